// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/tool"
)

// Ledger is what the engine needs of one.
type Ledger interface {
	ledger.Writer
	ledger.Histories
	ledger.Calls
	ledger.Quotas
	ledger.Shards
	ledger.Sizes
}

// Models finds the models that agents call.
type Models interface {
	// Route says where the calls of an agent go: the name of a provider that the scheduler knows.
	Route(ctx context.Context, a ledger.Agent) (provider string, err error)
	// Endpoint is how to reach a provider for an agent; it may be a fallback of the one that Route named.
	Endpoint(ctx context.Context, a ledger.Agent, provider string) (Endpoint, error)
}

// Endpoint is a model at a provider.
type Endpoint struct {
	Client *model.Client
	Model  string
	Prices model.Prices
}

// Tools finds the tools that agents use.
type Tools interface {
	// Set returns tools of an agent, among them the one of this name if there is one.
	Set(ctx context.Context, a ledger.Agent, name string) (tool.Set, error)
}

// Options are what an engine works with.
type Options struct {
	Ledger    Ledger
	Models    Models
	Scheduler *schedule.Scheduler
	Tools     Tools
	Executor  tool.Executor
	// Quotas are those of the namespaces; nil is none. QuotaUsed is told of a namespace with quotas in which model calls began, ended or
	// wait. It must not block.
	Quotas    Quotas
	QuotaUsed func(namespace string)
	// MayAct says why an agent may not use its role any more, before each of its model and tool calls; nil lets all act. It must answer from memory.
	MayAct func(ctx context.Context, a ledger.Agent, c agent.Config) error
	// NamespaceUID is the UID of a namespace, or empty; nil knows none. It must answer from memory.
	NamespaceUID func(namespace string) string
	// LedgerQuota is how many bytes of the ledger the agents of a namespace may take; 0 is no limit.
	LedgerQuota int64
	// AtOnce are tools that need nothing but this process and leave no trace outside of it, such as a calculator: their calls and
	// answers are recorded together. No other tool may be among them: it would run before its intent is in the ledger.
	AtOnce tool.Set
	// Crews are the groups of sub-agents that a sub-agent belongs to, with how many of each may be at work at a time; nil limits
	// nothing. It must not block.
	Crews func(ctx context.Context, a ledger.Agent) []Crew
	// Changed is told of an agent whose state has moved on. It must not block.
	Changed func(Change)
	// Recorded is told of everything that was appended to the ledger, just before it is acted upon. It must not block.
	Recorded func(Change)
	// Scope gives a model or tool call the context that it is made in; nil leaves it as it is.
	Scope func(ctx context.Context, a ledger.Agent, s agent.State, e agent.Effect) context.Context
	// Called is told of every model and tool call that was made, for metrics. It must not block.
	Called func(Call)
	// Queued is told of an agent whose model call has waited for its turn at a provider for a while, and again when it no longer
	// waits; Engine.Queued says where. It must not block.
	Queued func(ledger.Agent)
	// Listen is told the pieces of replies while they stream in, with the ledger's key of the call. It must not block.
	Listen func(uid, call string, delta model.Delta)
	// Trouble is told of failures that no agent can be told of, such as a ledger that is down. It must not block.
	Trouble func(err error)
	// Blocked is told of an agent that cannot go on because of the ledger, and once more when it does; see Engine.Blocked. It must not block.
	Blocked func(a ledger.Agent)
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Random is in [0, 1), for the jitter of retries; nil is always one half.
	Random func() float64
	// RetryLedger is how long to wait before a failed append is tried again; 0 is a second.
	RetryLedger time.Duration
	// Holder is the name of this engine, for other engines of the same ledger. Patience is how long one of them may be silent before
	// this one takes over from it; 0 is 5 seconds.
	Holder   string
	Patience time.Duration
	// AwaitRecovery lets everything that is delivered wait until Recover has been called: an agent must hear that a new
	// driver has taken over before it hears anything else, or the time in between would count as its own.
	AwaitRecovery bool
	// TakesOver says whether Recover takes an agent over; nil takes over all. One that is left out stays as it is until End or TakeOver.
	TakesOver func(ctx context.Context, a ledger.Agent) bool
	// SnapshotEvery is after how many events a snapshot is kept; 0 is 64.
	SnapshotEvery int64
	// Reached is told of the points that an effect passes, for tests of crashes; nil in production.
	Reached func(Point)
}

// Engine drives agents. It is safe for concurrent use.
type Engine struct {
	options Options
	budgets *budgets
	slots   *slots
	checker tool.Checker
	// directory knows the live agents.
	directory *directory
	quotas    *quotas
	// ledgerQuota knows who has room in the ledger.
	ledgerQuota *ledgerQuota

	// forwarding are the replies on their way to agents that asked.
	forwarding sync.Map

	ctx    context.Context
	cancel context.CancelFunc
	busy   sync.WaitGroup
	// steps and calls run on goroutines of their own: a step needs a stack several times as deep as a call, and calls wait for long.
	steps, calls *workers

	// tenure is the right to append, quiet says that it is about to be handed over.
	tenure tenure
	quiet  atomic.Bool
	held   atomic.Bool

	recoveredMu sync.Mutex
	recovered   chan struct{} // closed while this engine knows all live agents

	mu     sync.Mutex
	actors map[string]*actor
	closed bool
}

// ErrClosed says that the engine takes nothing any more.
var ErrClosed = errors.New("the engine is closed")

// errForgotten is told to those who wait for a record of an agent that has just been forgotten.
var errForgotten = errors.New("the agent is gone")

// New makes an engine. It does nothing until agents are started or recovered.
func New(options Options) *Engine {
	if options.MayAct == nil {
		options.MayAct = func(context.Context, ledger.Agent, agent.Config) error { return nil }
	}
	if options.NamespaceUID == nil {
		options.NamespaceUID = func(string) string { return "" }
	}
	if options.Crews == nil {
		options.Crews = func(context.Context, ledger.Agent) []Crew { return nil }
	}
	if options.Changed == nil {
		options.Changed = func(Change) {}
	}
	if options.Recorded == nil {
		options.Recorded = func(Change) {}
	}
	if options.Scope == nil {
		options.Scope = func(ctx context.Context, _ ledger.Agent, _ agent.State, _ agent.Effect) context.Context { return ctx }
	}
	if options.Called == nil {
		options.Called = func(Call) {}
	}
	if options.Queued == nil {
		options.Queued = func(ledger.Agent) {}
	}
	if options.Trouble == nil {
		options.Trouble = func(error) {}
	}
	if options.Blocked == nil {
		options.Blocked = func(ledger.Agent) {}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Random == nil {
		options.Random = func() float64 { return 0.5 }
	}
	if options.RetryLedger == 0 {
		options.RetryLedger = time.Second
	}
	if options.Patience == 0 {
		options.Patience = defaultPatience
	}
	if options.TakesOver == nil {
		options.TakesOver = func(context.Context, ledger.Agent) bool { return true }
	}
	if options.SnapshotEvery == 0 {
		options.SnapshotEvery = 64
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{options: options, budgets: newBudgets(), slots: newSlots(), directory: newDirectory(), ctx: ctx, cancel: cancel, actors: map[string]*actor{},
		steps: newWorkers(ctx.Done()), calls: newWorkers(ctx.Done())}
	e.quotas, e.ledgerQuota = newQuotas(e), newLedgerQuota(e)
	e.held.Store(options.AwaitRecovery)
	e.recovered = make(chan struct{})
	e.setRecovered(!options.AwaitRecovery)
	return e
}

// Start begins an agent's life. An agent that the ledger knows already goes on where it stands: starting is idempotent. What else is
// known by then, such as that it was cancelled, is heard before anything is done.
func (e *Engine) Start(record ledger.Agent, started agent.Started, known ...agent.Fact) error {
	together := []delivery{{fact: started, create: &record}}
	for _, fact := range known {
		together = append(together, delivery{fact: fact})
	}
	return e.post(record.UID, together...)
}

// Deliver gives an agent a fact from outside. It returns before the fact has been handled; facts that are not durable
// when the process dies must be delivered again, and doing so too often does no harm.
func (e *Engine) Deliver(uid string, fact agent.Fact) error {
	return e.post(uid, delivery{fact: fact})
}

// Record gives an agent a fact from outside, and returns when it is durable, or known already. It is for facts that are
// acknowledged to whoever brought them, who will not bring them again.
func (e *Engine) Record(ctx context.Context, uid string, fact agent.Fact) error {
	recorded := make(chan error, 1)
	if err := e.post(uid, delivery{fact: fact, recorded: func(err error) { recorded <- err }}); err != nil {
		return err
	}
	select {
	case err := <-recorded:
		return err
	case <-e.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("record %s of agent %s: %w", agent.FactType(fact), uid, ctx.Err())
	}
}

// post finds the mailbox of an agent. One that is evicted in this moment is replaced by another.
func (e *Engine) post(uid string, together ...delivery) error {
	for {
		a, err := e.actor(uid)
		if err != nil {
			return err
		}
		if a.post(together...) {
			return nil
		}
	}
}

// View returns the state of an agent as it is in the ledger, or ledger.ErrNotFound.
func (e *Engine) View(ctx context.Context, uid string) (agent.State, error) {
	a, err := e.actor(uid)
	if err != nil {
		return agent.State{}, err
	}
	_, state, err := a.view(ctx)
	return state, err
}

// Lookup returns what the ledger says of an agent besides its events, or ledger.ErrNotFound.
func (e *Engine) Lookup(ctx context.Context, uid string) (ledger.Agent, error) {
	a, err := e.actor(uid)
	if err != nil {
		return ledger.Agent{}, err
	}
	record, _, err := a.view(ctx)
	return record, err
}

// Await waits until this engine is at work and knows all live agents. Before that nothing should be judged or begun: another engine may be
// at work, and nobody can tell what limits leave room for.
func (e *Engine) Await(ctx context.Context) error {
	e.recoveredMu.Lock()
	recovered := e.recovered
	e.recoveredMu.Unlock()
	select {
	case <-recovered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) setRecovered(is bool) {
	e.recoveredMu.Lock()
	defer e.recoveredMu.Unlock()
	select {
	case <-e.recovered:
		if !is {
			e.recovered = make(chan struct{})
		}
	default:
		if is {
			close(e.recovered)
		}
	}
}

// Forget drops an agent from memory and stops what it has in flight. What is in the ledger stays.
func (e *Engine) Forget(uid string) {
	e.mu.Lock()
	a := e.actors[uid]
	delete(e.actors, uid)
	e.mu.Unlock()
	if a != nil {
		a.drop()
	}
	e.budgets.forget(uid)
	e.slots.forget(uid)
	e.directory.forget(uid)
}

// Evict drops agents from memory that have had nothing to do for a while: nothing has come for them, and nothing of theirs
// is in flight. The next delivery loads them again. It returns how many went.
func (e *Engine) Evict(idle time.Duration) int {
	before := e.options.Now().Add(-idle)
	e.mu.Lock()
	defer e.mu.Unlock()
	evicted := 0
	for uid, a := range e.actors {
		if a.retire(before) {
			delete(e.actors, uid)
			evicted++
		}
	}
	return evicted
}

// all are the agents in memory.
func (e *Engine) all() []*actor {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.actors))
}

// actor returns the mailbox of an agent, made on first use.
func (e *Engine) actor(uid string) (*actor, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	a, ok := e.actors[uid]
	if !ok {
		a = &actor{engine: e, uid: uid, inFlight: map[string]func(){}, quiet: e.quiet.Load()}
		e.actors[uid] = a
	}
	return a, nil
}

// Stats counts what the engine holds.
type Stats struct {
	// Agents are in memory, InFlight are the effects that the engine performs now.
	Agents, InFlight int
	// QuotaWaiting are the runs that wait for a quota, and LedgerFull the namespaces that have filled their share of the ledger.
	QuotaWaiting, LedgerFull int
}

// Stats counts what the engine holds now.
func (e *Engine) Stats() Stats {
	actors := e.all()
	stats := Stats{Agents: len(actors), QuotaWaiting: e.quotas.waitingAnywhere(), LedgerFull: e.ledgerQuota.fullNamespaces()}
	for _, a := range actors {
		a.mu.Lock()
		stats.InFlight += len(a.inFlight)
		a.mu.Unlock()
	}
	return stats
}
