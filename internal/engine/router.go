// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/admission"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/shard"
)

// Shard selects the trees of an engine.
type Shard struct {
	// ID is the id of the shard in the ledger.
	ID int
	// Hashes are the hashes of its trees; nil means all trees.
	Hashes *ledger.HashRange
}

// WholeLedger returns the shard of all trees.
func WholeLedger() Shard { return Shard{ID: ledger.FirstShard} }

// ErrNotOwned is returned for agents of shards that this process does not own. The operator that owns the shard acts on them.
var ErrNotOwned = errors.New("another operator owns the shard of the agent")

// ErrShardMoving is returned for agents of shards that this process is taking over or handing over. Who acts on them is known soon: unlike
// after ErrNotOwned, the caller must try again.
var ErrShardMoving = errors.New("the shard of the agent is being taken over or handed over")

// Router passes calls to the engine that has the agent: a process has one engine for each shard. It is safe for concurrent use.
type Router struct {
	*shared

	count   shard.Count
	engines []*Engine
}

// NewRouter returns the engines for a ledger that is divided into shards. With 0 shards there is one engine, for the whole ledger.
func NewRouter(options Options, shards int) *Router {
	r := &Router{shared: newShared(options), count: shard.Count(max(shards, 1))}
	if shards == 0 {
		r.engines = []*Engine{newEngine(r.shared, WholeLedger())}
		return r
	}
	for i := range shards {
		from, to := r.count.Range(i)
		r.engines = append(r.engines, newEngine(r.shared, Shard{ID: ledger.FirstShard + i, Hashes: &ledger.HashRange{From: from, To: to}}))
	}
	return r
}

// Engine returns the engine of a shard.
func (r *Router) Engine(index int) *Engine { return r.engines[index] }

// Shards returns the number of shards.
func (r *Router) Shards() int { return len(r.engines) }

// ShardOf returns the shard of a tree.
func (r *Router) ShardOf(hash int) int { return r.count.Of(hash) }

func (r *Router) of(hash int) *Engine { return r.engines[r.ShardOf(hash)] }

// Enter begins a reconcile of an object that belongs to a tree. It reports false if this process does not own the tree's shard, and does not
// report outages for it; otherwise the shard is not handed over before leave is called.
func (r *Router) Enter(hash int) (leave func(), ok bool) { return r.of(hash).enter() }

// ReportOutage lets reconciles begin although this engine does not own its shard, or ends that. It is for the process that should own the
// shard and cannot take it over because the ledger fails: its reconciles fail when they read the ledger, and write that to the status of
// their objects. Should the ledger answer meanwhile, they start nothing: see CheckOwned.
func (e *Engine) ReportOutage(on bool) { e.reportsOutage.Store(on) }

// enter counts a reconcile, unless the engine has not loaded all live agents of its shard.
func (e *Engine) enter() (leave func(), ok bool) {
	leave = e.reconciles.begin() // before the check: a hand-over first closes the gate and then waits
	if !e.recovered.Load() && !e.reportsOutage.Load() {
		leave()
		return nil, false
	}
	return leave, true
}

// Owns reports whether this process owns the shard of an agent in memory.
func (r *Router) Owns(uid string) bool {
	e := r.index.find(uid)
	return e != nil && e.recovered.Load()
}

// OwnsFirst reports whether this process owns the first shard, and with it the work that one process does for all.
func (r *Router) OwnsFirst() bool { return r.engines[0].recovered.Load() }

// CheckOwned returns nil if this process owns the shard of a tree, or else ErrShardMoving or ErrNotOwned.
func (r *Router) CheckOwned(hash int) error { return r.of(hash).checkOwned() }

// Moving reports whether this process is taking over or handing over the shard of a tree.
func (r *Router) Moving(hash int) bool { return errors.Is(r.CheckOwned(hash), ErrShardMoving) }

// Active reports whether this process owns a shard, or is taking over or handing over one.
func (r *Router) Active() bool {
	return slices.ContainsFunc(r.engines, func(e *Engine) bool { return !errors.Is(e.checkOwned(), ErrNotOwned) })
}

// checkOwned returns nil if this process owns the shard and has loaded all of its live agents, or else ErrShardMoving or ErrNotOwned.
func (e *Engine) checkOwned() error {
	fence, _ := e.ownership.current()
	acquired := fence != (ledger.Fence{}) && e.ownership.owns(fence) // read first: a recovery that ends in between is seen below
	switch {
	case e.recovered.Load():
		return nil
	case acquired:
		return ErrShardMoving
	}
	return ErrNotOwned
}

// find returns the engine that has an agent. It fails with ErrNotOwned if another process has it, and with ErrShardMoving if that is about to
// change. An agent that has ended may be read with any engine.
func (r *Router) find(ctx context.Context, uid string) (*Engine, error) {
	if len(r.engines) == 1 {
		return r.engines[0], nil
	}
	if e := r.index.find(uid); e != nil && e.recovered.Load() { // a read that was late may have left it in an engine without its shard
		return e, nil
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	record, err := r.options.Ledger.Agent(ctx, uid)
	if err != nil {
		return nil, fmt.Errorf("find the shard of agent %s: %w", uid, err)
	}
	e := r.of(record.ShardHash)
	switch err := e.checkOwned(); {
	case err == nil:
		return e, nil
	case record.Live():
		return nil, fmt.Errorf("agent %s: %w", uid, err)
	}
	for _, other := range r.engines {
		if other.recovered.Load() {
			return other, nil
		}
	}
	return nil, fmt.Errorf("agent %s: %w", uid, ErrNotOwned)
}

// findTimeout bounds the read with which the shard of an agent is found.
const findTimeout = 10 * time.Second

// inMemory returns the engine that has an agent in memory, or nil.
func (r *Router) inMemory(uid string) *Engine {
	if len(r.engines) == 1 {
		return r.engines[0]
	}
	return r.index.find(uid)
}

// Start starts an agent; see Engine.Start.
func (r *Router) Start(record ledger.Agent, first agent.Fact, known ...agent.Fact) error {
	e := r.of(record.ShardHash)
	if len(r.engines) > 1 {
		if !e.recovered.Load() {
			return fmt.Errorf("start agent %s: %w", record.UID, ErrNotOwned)
		}
		r.index.set(record.UID, e)
	}
	return e.Start(record, first, known...)
}

// Deliver delivers a fact to an agent; see Engine.Deliver. An agent that is not recorded gets none.
func (r *Router) Deliver(uid string, fact agent.Fact) error {
	return r.deliver(uid, func(e *Engine) error { return e.Deliver(uid, fact) })
}

// End cancels an agent whose object was deleted; see Engine.End.
func (r *Router) End(ctx context.Context, uid string) error {
	r.slots.Release(uid)
	return r.deliver(uid, func(e *Engine) error { return e.End(ctx, uid) })
}

// EndIfDeleted cancels an agent whose object, or one above it, was deleted; see Engine.EndIfDeleted.
func (r *Router) EndIfDeleted(ctx context.Context, uid string, facts ...agent.Fact) (ended bool, err error) {
	err = r.deliver(uid, func(e *Engine) error {
		ended, err = e.EndIfDeleted(ctx, uid, facts...)
		return err
	})
	return ended, err
}

func (r *Router) deliver(uid string, to func(*Engine) error) error {
	e, err := r.find(r.ctx, uid)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return to(e)
}

// Record delivers a fact to an agent and returns when it is durable; see Engine.Record.
func (r *Router) Record(ctx context.Context, uid string, fact agent.Fact, images ...ledger.Image) error {
	e, err := r.find(ctx, uid)
	if err != nil {
		return err
	}
	return e.Record(ctx, uid, fact, images...)
}

// View returns the recorded state of an agent, or ledger.ErrNotFound.
func (r *Router) View(ctx context.Context, uid string) (agent.State, error) {
	e, err := r.find(ctx, uid)
	if err != nil {
		return agent.State{}, err
	}
	return e.View(ctx, uid)
}

// Lookup returns the ledger's record of an agent, or ledger.ErrNotFound.
func (r *Router) Lookup(ctx context.Context, uid string) (ledger.Agent, error) {
	e, err := r.find(ctx, uid)
	if err != nil {
		return ledger.Agent{}, err
	}
	return e.Lookup(ctx, uid)
}

// TakeOver takes over an agent that Recover has left out.
func (r *Router) TakeOver(ctx context.Context, uid string) error {
	e, err := r.find(ctx, uid)
	if err != nil {
		return err
	}
	return e.TakeOver(ctx, uid)
}

// HasStarted reports whether the agent of a child is recorded.
func (r *Router) HasStarted(ctx context.Context, parent, child string) (bool, error) {
	e, err := r.find(ctx, parent)
	if err != nil {
		return false, err
	}
	return e.HasStarted(ctx, parent, child)
}

// LiveNamed returns the live agents of objects with this name whose shards this process owns. It fails with ErrShardMoving if it is not yet
// known whether this process owns one of them.
func (r *Router) LiveNamed(ctx context.Context, kind, namespace, name string) ([]ledger.Agent, error) {
	agents, err := r.engines[0].LiveNamed(ctx, kind, namespace, name)
	if err != nil || len(r.engines) == 1 {
		return agents, err
	}
	var own []ledger.Agent
	for _, a := range agents {
		switch err := r.of(a.ShardHash).checkOwned(); {
		case err == nil:
			own = append(own, a)
		case errors.Is(err, ErrShardMoving):
			return nil, fmt.Errorf("agent %s of %s %s/%s: %w", a.UID, kind, namespace, name, err)
		}
	}
	return own, nil
}

// CancelChild cancels a child of an agent. It reports false if no such child is live.
func (r *Router) CancelChild(parent, parentName, child string) bool {
	e := r.inMemory(parent)
	return e != nil && e.CancelChild(parent, parentName, child)
}

// FindLive returns the record of a live agent from memory.
func (r *Router) FindLive(uid string) (ledger.Agent, bool) {
	if e := r.inMemory(uid); e != nil {
		return e.FindLive(uid)
	}
	return ledger.Agent{}, false
}

// AsksBelow lists the asks below the agent of a standalone task, the oldest first, from memory.
func (r *Router) AsksBelow(root string) []Ask {
	if e := r.inMemory(root); e != nil {
		return e.AsksBelow(root)
	}
	return nil
}

// Blocked returns why the ledger keeps an agent from continuing, or nil.
func (r *Router) Blocked(uid string) error {
	if e := r.inMemory(uid); e != nil {
		return e.Blocked(uid)
	}
	return nil
}

// Queued returns where the model call of an agent waits, if it has waited for long.
func (r *Router) Queued(uid string) (admission.Queued, bool) {
	if e := r.inMemory(uid); e != nil {
		return e.Queued(uid)
	}
	return admission.Queued{}, false
}

// Progress returns what the tools of an agent report about their calls in flight; see Engine.Progress.
func (r *Router) Progress(uid string) map[string]string {
	if e := r.inMemory(uid); e != nil {
		return e.Progress(uid)
	}
	return nil
}

// AcquireSlot gives a sub-agent a slot; see Engine.AcquireSlot.
func (r *Router) AcquireSlot(record ledger.Agent, wake func()) bool {
	return r.of(record.ShardHash).AcquireSlot(record, wake)
}

// EvictIdle drops idle agents from memory; see Engine.EvictIdle.
func (r *Router) EvictIdle(idle time.Duration) {
	for _, e := range r.engines {
		e.EvictIdle(idle)
	}
}

// Stats returns the current counts of all engines.
func (r *Router) Stats() Stats {
	stats := Stats{QuotaWaiting: r.waitingForQuota(), LedgerFull: r.admission.FullNamespaces()}
	for _, e := range r.engines {
		e.addTo(&stats)
	}
	return stats
}

// Close stops all engines; see Engine.Close.
func (r *Router) Close(ctx context.Context) error {
	errs := make(chan error, len(r.engines))
	for _, e := range r.engines {
		go func() { errs <- e.Close(ctx) }()
	}
	var err error
	for range r.engines {
		err = errors.Join(err, <-errs)
	}
	r.close()
	return err
}
