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

// Ledger is the part of ledger.Ledger that the engine uses.
type Ledger interface {
	ledger.Writer
	ledger.Histories
	ledger.Calls
	ledger.Quotas
	ledger.Shards
	ledger.Sizes
}

// Models finds the models of agents.
type Models interface {
	// Route returns the name of the provider for an agent's calls, as known to the scheduler.
	Route(ctx context.Context, a ledger.Agent) (provider string, err error)
	// Endpoint returns how to reach a provider for an agent; it may be a fallback of the one that Route returned.
	Endpoint(ctx context.Context, a ledger.Agent, provider string) (Endpoint, error)
}

// Endpoint is a model at a provider.
type Endpoint struct {
	Client *model.Client
	Model  string
	Prices model.Prices
}

// Tools finds the tools of agents.
type Tools interface {
	// Set returns tools of an agent, including the one with this name if it exists.
	Set(ctx context.Context, a ledger.Agent, name string) (tool.Set, error)
}

// Options configure an engine. Callbacks must not block.
type Options struct {
	Ledger    Ledger
	Models    Models
	Scheduler *schedule.Scheduler
	Tools     Tools
	Executor  tool.Executor
	// Quotas returns the quotas of namespaces; nil means none. QuotaUsed is called for a namespace with quotas in which model
	// calls started, ended or wait.
	Quotas    Quotas
	QuotaUsed func(namespace string)
	// MayAct is called before each model and tool call and returns why the agent must not use its role any more; nil allows all
	// calls. It must answer from memory.
	MayAct func(ctx context.Context, a ledger.Agent, c agent.Config) error
	// NamespaceUID returns the UID of a namespace, or an empty string. It may be nil, and must answer from memory.
	NamespaceUID func(namespace string) string
	// LedgerQuota bounds the bytes in the ledger of the agents of a namespace; 0 means no limit.
	LedgerQuota int64
	// AtOnce are tools that run only in this process and have no effect outside it, such as a calculator. Their calls and answers
	// are recorded together. It must contain no other tools, because they run before their intent is in the ledger.
	AtOnce tool.Set
	// Crews returns the slot groups of a sub-agent with their limits; nil means no limits.
	Crews func(ctx context.Context, a ledger.Agent) []Crew
	// Changed is called when the state of an agent has changed.
	Changed func(Change)
	// Recorded is called for every append, just before its effects start.
	Recorded func(Change)
	// Scope returns the context for a model or tool call; nil keeps the context.
	Scope func(ctx context.Context, a ledger.Agent, s agent.State, e agent.Effect) context.Context
	// Called is called after every model and tool call, for metrics.
	Called func(Call)
	// Queued is called when the model call of an agent has waited at a provider for a while, and again when it no longer waits;
	// see Engine.Queued.
	Queued func(ledger.Agent)
	// Listen is called with the deltas of streamed replies and the ledger key of the call.
	Listen func(uid, call string, delta model.Delta)
	// Trouble is called with errors that concern no single agent, such as an unavailable ledger.
	Trouble func(err error)
	// Blocked is called when the ledger keeps an agent from continuing, and again when it no longer does; see Engine.Blocked.
	Blocked func(a ledger.Agent)
	// Now is the clock; nil means the system clock.
	Now func() time.Time
	// Random returns numbers in [0, 1) for the jitter of retries; nil means always 0.5.
	Random func() float64
	// RetryLedger is the delay before a failed append is retried; 0 means one second.
	RetryLedger time.Duration
	// Holder is the name of this engine for other engines on the same ledger. Patience is how long another engine may be silent
	// before this one takes over; 0 means 5 seconds.
	Holder   string
	Patience time.Duration
	// AwaitRecovery delays all deliveries until Recover was called. The first event of a new driver must be the take-over;
	// otherwise the time without a driver would count as active time of the agent.
	AwaitRecovery bool
	// TakesOver reports whether Recover takes over an agent; nil takes over all. Others stay as they are until End or TakeOver.
	TakesOver func(ctx context.Context, a ledger.Agent) bool
	// SnapshotEvery is the number of events between snapshots; 0 means 64.
	SnapshotEvery int64
	// Reached is called at the points that an effect passes, for crash tests; nil in production.
	Reached func(Point)
}

// Engine drives agents. It is safe for concurrent use.
type Engine struct {
	options Options
	budgets *budgets
	slots   *slots
	checker tool.Checker
	// directory contains the live agents.
	directory *directory
	quotas    *quotas
	// ledgerQuota delays calls of namespaces that have reached their ledger quota.
	ledgerQuota *ledgerQuota

	// forwarding are the replies that are being forwarded to the agents that asked.
	forwarding sync.Map

	ctx    context.Context
	cancel context.CancelFunc
	busy   sync.WaitGroup
	// steps and calls have separate workers: a step needs a much deeper stack than a call, and calls wait for long.
	steps, calls *workers

	// tenure is the ownership of the shard; quiet reports that it is about to be handed over.
	tenure tenure
	quiet  atomic.Bool
	held   atomic.Bool

	recoveredMu sync.Mutex
	recovered   chan struct{} // closed while this engine knows all live agents

	mu     sync.Mutex
	actors map[string]*actor
	closed bool
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("the engine is closed")

// errForgotten is returned to callers of Record when the agent is evicted.
var errForgotten = errors.New("the agent was evicted")

// New returns an engine. It does nothing until agents are started or recovered.
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

// Start starts an agent. It is idempotent: an agent that is already recorded continues. The known facts, such as a cancellation,
// are applied before any effect starts.
func (e *Engine) Start(record ledger.Agent, started agent.Started, known ...agent.Fact) error {
	together := []delivery{{fact: started, create: &record}}
	for _, fact := range known {
		together = append(together, delivery{fact: fact})
	}
	return e.post(record.UID, together...)
}

// Deliver delivers a fact to an agent. It returns before the fact is handled. Facts that were not durable when the process died
// must be delivered again; repeated facts are ignored.
func (e *Engine) Deliver(uid string, fact agent.Fact) error {
	return e.post(uid, delivery{fact: fact})
}

// Record delivers a fact to an agent and returns when the fact is durable, or was already known. Use it for facts that are
// acknowledged to a sender who will not send them again.
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

// post delivers to the mailbox of an agent, with a new actor if the current one is evicted at the same time.
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

// View returns the recorded state of an agent, or ledger.ErrNotFound.
func (e *Engine) View(ctx context.Context, uid string) (agent.State, error) {
	a, err := e.actor(uid)
	if err != nil {
		return agent.State{}, err
	}
	_, state, err := a.view(ctx)
	return state, err
}

// Lookup returns the ledger's record of an agent, or ledger.ErrNotFound.
func (e *Engine) Lookup(ctx context.Context, uid string) (ledger.Agent, error) {
	a, err := e.actor(uid)
	if err != nil {
		return ledger.Agent{}, err
	}
	record, _, err := a.view(ctx)
	return record, err
}

// Await waits until this engine owns the shard and has recovered all live agents. Before that, another engine may be running
// agents, and usage and slots are unknown.
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

// Forget drops an agent from memory and stops its effects in flight. Its history stays in the ledger.
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

// Evict drops idle agents from memory: those without deliveries for the given time and without effects in flight. The next
// delivery loads them again. It returns how many were dropped.
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

// all returns the agents in memory.
func (e *Engine) all() []*actor {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.actors))
}

// actor returns the actor of an agent, creating it on first use.
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

// Stats are counts of what the engine holds in memory.
type Stats struct {
	// Agents counts the agents in memory, InFlight the effects in flight.
	Agents, InFlight int
	// QuotaWaiting counts the runs that wait for a quota, LedgerFull the namespaces at their ledger quota.
	QuotaWaiting, LedgerFull int
}

// Stats returns the current counts.
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
