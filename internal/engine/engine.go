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
	// Temperature is nil where the role leaves it to the model.
	Temperature *float64
}

// Tools finds the tools that agents use.
type Tools interface {
	Set(ctx context.Context, a ledger.Agent) (tool.Set, error)
}

// Options are what an engine works with.
type Options struct {
	Ledger    Ledger
	Models    Models
	Scheduler *schedule.Scheduler
	Tools     Tools
	Executor  tool.Executor
	// Changed is told of an agent whose state has moved on. It must not block.
	Changed func(ledger.Agent)
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
}

// Engine drives agents. It is safe for concurrent use.
type Engine struct {
	options Options
	budgets *budgets

	ctx    context.Context
	cancel context.CancelFunc
	busy   sync.WaitGroup

	held atomic.Bool

	mu     sync.Mutex
	actors map[string]*actor
	closed bool
}

// ErrClosed says that the engine takes nothing any more.
var ErrClosed = errors.New("the engine is closed")

// New makes an engine. It does nothing until agents are started or recovered.
func New(options Options) *Engine {
	if options.Changed == nil {
		options.Changed = func(ledger.Agent) {}
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
	e := &Engine{options: options, budgets: newBudgets(), ctx: ctx, cancel: cancel, actors: map[string]*actor{}}
	e.held.Store(options.AwaitRecovery)
	return e
}

// Start begins an agent's life. An agent that the ledger knows already goes on where it stands: starting is idempotent.
func (e *Engine) Start(record ledger.Agent, started agent.Started) error {
	return e.post(record.UID, delivery{fact: started, create: &record})
}

// Deliver gives an agent a fact from outside. It returns before the fact has been handled; facts that are not durable
// when the process dies must be delivered again, and doing so too often does no harm.
func (e *Engine) Deliver(uid string, fact agent.Fact) error {
	return e.post(uid, delivery{fact: fact})
}

// post finds the mailbox of an agent. One that is evicted in this moment is replaced by another.
func (e *Engine) post(uid string, d delivery) error {
	for {
		a, err := e.actor(uid)
		if err != nil {
			return err
		}
		if a.post(d) {
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
	return a.view(ctx)
}

// Recover takes over the agents that have not finished: what is outstanding is performed, and write tools that had been
// started are told as unknown.
func (e *Engine) Recover(ctx context.Context) (int, error) {
	recovered := 0
	page := ledger.Page{}
	for {
		list, err := e.options.Ledger.Agents(ctx, ledger.AgentFilter{Live: true}, page)
		if err != nil {
			return recovered, fmt.Errorf("list the live agents: %w", err)
		}
		for _, record := range list.Items {
			fact, err := e.restarted(ctx, record.UID)
			if err != nil {
				return recovered, err
			}
			if err := e.post(record.UID, delivery{fact: fact, takeOver: true}); err != nil {
				return recovered, err
			}
			recovered++
		}
		if list.Next == "" {
			e.release()
			return recovered, nil
		}
		page.Cursor = list.Next
	}
}

// release lets agents go on that have waited for the recovery.
func (e *Engine) release() {
	e.held.Store(false)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.actors {
		a.look()
	}
}

// restarted names the tool calls of an agent whose outcome nobody can tell.
func (e *Engine) restarted(ctx context.Context, uid string) (agent.Restarted, error) {
	open, err := e.options.Ledger.OpenCalls(ctx, uid)
	if err != nil {
		return agent.Restarted{}, fmt.Errorf("look for open calls of agent %s: %w", uid, err)
	}
	var fact agent.Restarted
	for _, call := range open.Tools {
		if !call.Repeatable {
			fact.Unknown = append(fact.Unknown, call.CallID)
		}
	}
	return fact, nil
}

// End cancels an agent whose object is gone: what it has in flight is stopped, and the ledger says that it was cancelled,
// an orchestrator's included, which would never end by itself.
func (e *Engine) End(uid string) error {
	return e.post(uid, delivery{fact: agent.Cancelled{By: "deletion"}, end: true})
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
