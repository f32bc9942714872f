// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
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

// Call is a model or tool call that was made.
type Call struct {
	Agent ledger.Agent
	// Effect is the agent.CallModel or agent.RunTool that it performed, and Turn the orchestrator's turn that it belongs to.
	Effect agent.Effect
	Turn   agent.Turn
	// Provider is where a model call went, Tool what a tool call called.
	Provider, Tool string
	Status         ledger.Status
	// Failure is the kind of failure, if it failed.
	Failure string
	Started time.Time
	Took    time.Duration
	// Usage is what a model call used, as far as it is known.
	Usage agent.Usage
	// Server is the host that a model call went to. Request is what it was asked, and Reply what it answered, if it did.
	Server  string
	Request *model.Request
	Reply   *model.Reply
}

// Change is a step that an agent has made, as it is in the ledger.
type Change struct {
	Agent         ledger.Agent
	Before, After agent.State
	// Effects are what the step added to what is outstanding.
	Effects []agent.Effect
	// Events are what happened, and Calls the calls whose results were recorded with them.
	Events []agent.Event
	Calls  []Call
	// Gone says that the agent's object was deleted, so that nothing will come after this.
	Gone bool
}

// Steps visits the state before and after each event of a change.
func (c Change) Steps(visit func(before agent.State, e agent.Event, after agent.State)) {
	before := c.Before
	for i, e := range c.Events {
		after := c.After
		if i < len(c.Events)-1 {
			after = agent.Replay(before, []agent.Event{e})
		}
		visit(before, e, after)
		before = after
	}
}

// Options are what an engine works with.
type Options struct {
	Ledger    Ledger
	Models    Models
	Scheduler *schedule.Scheduler
	Tools     Tools
	Executor  tool.Executor
	// AtOnce are tools that need nothing but this process and leave no trace outside of it, such as a calculator: their calls and
	// answers are recorded together. No other tool may be among them: it would run before its intent is in the ledger.
	AtOnce tool.Set
	// Changed is told of an agent whose state has moved on. It must not block.
	Changed func(Change)
	// Recorded is told of everything that was appended to the ledger, just before it is acted upon. It must not block.
	Recorded func(Change)
	// Scope gives a model or tool call the context that it is made in; nil leaves it as it is.
	Scope func(ctx context.Context, a ledger.Agent, s agent.State, e agent.Effect) context.Context
	// Called is told of every model and tool call that was made, for metrics. It must not block.
	Called func(Call)
	// Listen is told the pieces of replies while they stream in, with the ledger's key of the call. It must not block.
	Listen func(uid, call string, delta model.Delta)
	// Trouble is told of failures that no agent can be told of, such as a ledger that is down. It must not block.
	Trouble func(err error)
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Random is in [0, 1), for the jitter of retries; nil is always one half.
	Random func() float64
	// RetryLedger is how long to wait before a failed append is tried again; 0 is a second.
	RetryLedger time.Duration
	// TakeOverAfter is how long an agent that another engine has appended to may stand still before this one takes it
	// over; 0 is 15 seconds.
	TakeOverAfter time.Duration
	// AwaitRecovery lets everything that is delivered wait until Recover has been called: an agent must hear that a new
	// driver has taken over before it hears anything else, or the time in between would count as its own.
	AwaitRecovery bool
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

	ctx    context.Context
	cancel context.CancelFunc
	busy   sync.WaitGroup

	held      atomic.Bool
	recovered atomic.Bool

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
	if options.Trouble == nil {
		options.Trouble = func(error) {}
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
	if options.TakeOverAfter == 0 {
		options.TakeOverAfter = 15 * time.Second
	}
	if options.SnapshotEvery == 0 {
		options.SnapshotEvery = 64
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{options: options, budgets: newBudgets(), slots: newSlots(), ctx: ctx, cancel: cancel, actors: map[string]*actor{}}
	e.held.Store(options.AwaitRecovery)
	e.recovered.Store(!options.AwaitRecovery)
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

// Refresh sees to it that the next View is at least what the ledger has now. Another engine may have gone on with the agent,
// which nobody tells this one; whoever is about to refuse something because of a state should ask for it.
func (e *Engine) Refresh(ctx context.Context, uid string) error {
	record, err := e.options.Ledger.Agent(ctx, uid)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look how far agent %s is: %w", uid, err)
	}
	a, err := e.actor(uid)
	if err != nil {
		return err
	}
	if a.lastSeq() < record.LastSeq {
		a.unload()
	}
	return nil
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

// TakeSlot lets a sub-agent begin if fewer than limit others of its tree are at work; a limit of 0 is none. If it must wait,
// wake is called once when it is its turn.
func (e *Engine) TakeSlot(root, uid string, limit int, wake func()) bool {
	return limit == 0 || e.slots.take(root, uid, limit, wake)
}

// Recovered says whether this engine knows all live agents. Before that nothing new should begin: it could not tell what
// limits leave room for.
func (e *Engine) Recovered() bool { return e.recovered.Load() }

// End cancels an agent whose object is gone: what it has in flight is stopped, and the ledger says that it was cancelled,
// an orchestrator's included, which would never end by itself.
func (e *Engine) End(uid string) error {
	e.slots.forget(uid)
	return e.post(uid, delivery{fact: agent.Cancelled{By: "deletion"}, end: true})
}

// EndNamed cancels the live agents of an object of which only the name is known: it went while no engine was at work.
func (e *Engine) EndNamed(ctx context.Context, kind, namespace, name string) error {
	filter := ledger.AgentFilter{Scope: ledger.Scope{Namespace: namespace}, Kind: kind, Name: name, Live: true}
	list, err := e.options.Ledger.Agents(ctx, filter, ledger.Page{})
	if err != nil {
		return fmt.Errorf("look for agents of the deleted %s %s/%s: %w", kind, namespace, name, err)
	}
	for _, record := range list.Items {
		if err := e.End(record.UID); err != nil {
			return err
		}
	}
	return nil
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

// Close stops the engine: effects in flight are given until ctx ends to finish and be recorded, then they are stopped.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	actors := make([]*actor, 0, len(e.actors))
	for _, a := range e.actors {
		actors = append(actors, a)
	}
	e.mu.Unlock()
	for _, a := range actors {
		a.quiesce()
	}
	idle := make(chan struct{})
	go func() {
		e.busy.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		e.cancel()
		return nil
	case <-ctx.Done():
		e.cancel()
		<-idle
		return nil
	}
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
		a = &actor{engine: e, uid: uid, inFlight: map[string]func(){}}
		e.actors[uid] = a
	}
	return a, nil
}

// Stats counts what the engine holds.
type Stats struct {
	// Agents are in memory, InFlight are the effects that the engine performs now.
	Agents, InFlight int
}

// Stats counts what the engine holds now.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	actors := make([]*actor, 0, len(e.actors))
	for _, a := range e.actors {
		actors = append(actors, a)
	}
	e.mu.Unlock()
	stats := Stats{Agents: len(actors)}
	for _, a := range actors {
		a.mu.Lock()
		stats.InFlight += len(a.inFlight)
		a.mu.Unlock()
	}
	return stats
}
