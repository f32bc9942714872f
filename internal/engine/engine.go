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
	"github.com/nestor-dev/nestor/internal/engine/admission"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// Engine drives agents. It is safe for concurrent use.
type Engine struct {
	// The engines of a router share these parts; closeShared reports that this engine has them for itself.
	*shared
	closeShared bool

	// options are those of shared, and shard selects the trees of this engine.
	options Options
	shard   Shard
	budgets *admission.Budgets
	checker tool.Checker
	// directory contains the live agents.
	directory *directory

	// forwarding holds the keys of the replies that are being forwarded to the agents that asked.
	forwarding sync.Map

	ctx    context.Context
	cancel context.CancelFunc
	busy   sync.WaitGroup
	// reconciles counts the reconciles of trees of this shard that are in progress.
	reconciles tracker

	// ownership is the ownership of the shard; draining reports that it is about to be handed over.
	ownership ownership
	draining  atomic.Bool
	// awaitsRecovery is set while deliveries wait for Recover.
	awaitsRecovery atomic.Bool

	// recovered is set while this engine has loaded all live agents of its shard.
	recovered atomic.Bool
	// reportsOutage is set while the failure of the ledger keeps this process from taking over the shard; see ReportOutage.
	reportsOutage atomic.Bool
	// actors are the agents in memory.
	actors registry
	// adopted are the calls that the previous owner of the shard continues to make.
	adopted adoptions
	// detached counts the calls that this process makes for the new owner of the shard.
	detached atomic.Int64
	// detachedTTL is defaultDetachedTTL, except in tests.
	detachedTTL time.Duration
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("the engine is closed")

// errEvicted is returned to callers of Record when the agent is evicted.
var errEvicted = errors.New("the agent was evicted")

// New returns an engine for all trees of the ledger. It does nothing until agents are started or recovered.
func New(options Options) *Engine {
	e := newEngine(newShared(options), WholeLedger())
	e.closeShared = true
	return e
}

func newEngine(s *shared, shard Shard) *Engine {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{shared: s, options: s.options, shard: shard, budgets: s.admission.NewBudgets(), ctx: ctx, cancel: cancel, detachedTTL: defaultDetachedTTL}
	e.directory = newDirectory(func(uid string) { s.index.set(uid, e) }, s.index.remove)
	e.awaitsRecovery.Store(s.options.AwaitRecovery)
	e.recovered.Store(!s.options.AwaitRecovery)
	return e
}

// Start starts an agent with its first fact: Started, or Forked for a fork with events of its origin. It is idempotent: an agent that is already recorded continues. The known facts, such as a cancellation,
// are applied before any effect starts.
func (e *Engine) Start(record ledger.Agent, first agent.Fact, known ...agent.Fact) error {
	together := []delivery{{fact: first, create: &record}}
	for _, fact := range known {
		together = append(together, delivery{fact: fact})
	}
	return e.enqueue(record.UID, together...)
}

// Deliver delivers a fact to an agent. It returns before the fact is handled. Facts that were not durable when the process died
// must be delivered again; repeated facts are ignored.
func (e *Engine) Deliver(uid string, fact agent.Fact) error {
	return e.enqueue(uid, delivery{fact: fact})
}

// Record delivers a fact to an agent and returns when the fact is durable, or was already known. Use it for facts that are
// acknowledged to a sender and are not sent again. The images are those that the fact refers to; they are stored with it.
func (e *Engine) Record(ctx context.Context, uid string, fact agent.Fact, images ...ledger.Image) error {
	recorded := make(chan error, 1)
	if err := e.enqueue(uid, delivery{fact: fact, images: images, onRecorded: func(err error) { recorded <- err }}); err != nil {
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

// enqueue delivers to the mailbox of an agent, with a new actor if the current one is evicted at the same time.
func (e *Engine) enqueue(uid string, together ...delivery) error {
	for {
		a, err := e.actor(uid)
		if err != nil {
			return err
		}
		if a.enqueue(together...) {
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

// Evict drops an agent from memory and stops its effects in flight. Its history stays in the ledger.
func (e *Engine) Evict(uid string) {
	if a := e.actors.remove(uid); a != nil {
		a.drop()
	}
	e.budgets.Drop(uid)
	e.slots.Release(uid)
	e.directory.remove(uid)
}

// EvictIdle drops idle agents from memory: those without deliveries for the given time and without effects in flight. The next
// delivery loads them again. It returns how many were dropped.
func (e *Engine) EvictIdle(idle time.Duration) int {
	return e.actors.removeIdle(e.options.Now().Add(-idle))
}

// allActors returns the agents in memory.
func (e *Engine) allActors() []*actor { return e.actors.all() }

// actor returns the actor of an agent, creating it on first use.
func (e *Engine) actor(uid string) (*actor, error) {
	return e.actors.get(uid, func() *actor {
		return &actor{engine: e, uid: uid, inFlight: map[string]func(){}, draining: e.draining.Load()}
	})
}

// Stats are counts of what the engine holds in memory.
type Stats struct {
	// Agents counts the agents in memory, InFlight the effects in flight.
	Agents, InFlight int
	// QuotaWaiting counts the runs that wait for a quota, LedgerFull the namespaces at their ledger quota.
	QuotaWaiting, LedgerFull int
	// Detached counts the calls that this process makes for the new owners of their shards, Adopted those whose results it awaits from
	// previous owners.
	Detached, Adopted int
}

// Stats returns the current counts.
func (e *Engine) Stats() Stats {
	stats := Stats{QuotaWaiting: e.waitingForQuota(), LedgerFull: e.admission.FullNamespaces()}
	e.addTo(&stats)
	return stats
}

// addTo adds the counts of the engine's own agents.
func (e *Engine) addTo(stats *Stats) {
	for _, a := range e.allActors() {
		a.mu.Lock()
		stats.Agents++
		stats.InFlight += len(a.inFlight)
		a.mu.Unlock()
	}
	stats.Detached += int(e.detached.Load())
	if e.recovered.Load() {
		stats.Adopted += len(e.adopted.waiting())
	}
}
