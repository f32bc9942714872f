// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	// drainTimeout is how long effects in flight may take to finish when the operator stops.
	drainTimeout = 20 * time.Second
	// evictAfter is how long an agent that has nothing to do stays in memory: to read it again takes a few milliseconds.
	evictAfter = 15 * time.Second
	// evictInterval is how often idle agents are evicted and unused memory is returned.
	evictInterval = 2 * time.Second
)

// driver takes over the agents of previous operators, evicts agents that only wait, and drains calls in flight at
// shutdown.
type driver struct {
	router     *engine.Router
	workspaces *workspace.Workspaces
	idle       time.Duration
	// unconfirmed are the agents whose objects were not in the cache at takeover; hasObject reads them from the API
	// server.
	unconfirmed *unconfirmed
	hasObject   func(context.Context, ledger.Agent, bool) (bool, error)
	// waker enqueues the objects of shards that were taken over.
	waker    *shardWaker
	sharding *sharding
	// takenOver is called when the agents of a shard continue, released when this operator no longer owns it.
	takenOver func(time.Duration)
	released  func(shard int)
	// closers are closed one after the other when the operator stops: the engine first, because its calls in flight use
	// the others.
	closers []closer
}

// closer ends its work before ctx does.
type closer interface {
	Close(ctx context.Context) error
}

// unconfirmed are agents whose objects may have been deleted while no operator was running, by UID: a recovery that is
// repeated adds them again.
type unconfirmed struct {
	mu     sync.Mutex
	agents map[string]ledger.Agent
}

func (s *unconfirmed) add(a ledger.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agents == nil {
		s.agents = map[string]ledger.Agent{}
	}
	s.agents[a.UID] = a
}

// take removes and returns the agents for which ready returns true.
func (s *unconfirmed) take(ready func(ledger.Agent) bool) []ledger.Agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []ledger.Agent
	for uid, a := range s.agents {
		if ready(a) {
			list = append(list, a)
			delete(s.agents, uid)
		}
	}
	return list
}

// confirmObjects takes over the agents whose objects exist after all, and ends the others. Shards are recovered
// concurrently: the agents of one that is not recovered yet are left to a later call.
func (d *driver) confirmObjects(ctx context.Context) error {
	var errs []error
	for _, a := range d.unconfirmed.take(func(a ledger.Agent) bool { return !d.router.Moving(a.ShardHash) }) {
		there, err := d.hasObject(ctx, a, true)
		switch {
		case err != nil:
		case there:
			err = d.router.TakeOver(ctx, a.UID)
		default:
			err = d.router.End(ctx, a.UID)
		}
		if err == nil || errors.Is(err, engine.ErrNotOwned) {
			continue // the new owner of its shard does it
		}
		d.unconfirmed.add(a)
		if !errors.Is(err, engine.ErrShardMoving) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (d *driver) Start(ctx context.Context) error {
	maintained := make(chan struct{})
	go func() {
		defer close(maintained)
		d.maintain(ctx)
	}()
	err := d.ownShards(ctx)
	if ctx.Err() == nil {
		return err // the process ends
	}
	<-maintained
	return errors.Join(err, d.drain(ctx))
}

// takeOver takes over the live agents of a shard, and enqueues its objects.
func (d *driver) takeOver(ctx context.Context, shard int) error {
	began := time.Now()
	d.workspaces.Resume()
	if _, err := d.router.Engine(shard).Recover(ctx); err != nil {
		return fmt.Errorf("take over the live agents: %w", err)
	}
	if err := d.confirmObjects(ctx); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot confirm whether the objects of some agents still exist")
	}
	d.waker.wake(ctx, shard)
	d.takenOver(time.Since(began))
	return nil
}

// maintain evicts idle agents and returns unused memory until ctx ends.
func (d *driver) maintain(ctx context.Context) {
	var b allocationBurst
	ticker := time.NewTicker(evictInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			d.router.EvictIdle(cmp.Or(d.idle, evictAfter))
			_ = d.confirmObjects(ctx) // the first failure was logged by takeOver
			if b.over(allocated()) {
				debug.FreeOSMemory()
			}
		case <-ctx.Done():
			return
		}
	}
}

// drain lets effects in flight finish when the operator stops.
func (d *driver) drain(ctx context.Context) error {
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	var errs []error
	for _, c := range d.closers {
		errs = append(errs, c.Close(draining))
	}
	return errors.Join(errs...)
}

const (
	// burstBytes is the number of bytes that a burst of work allocates at least; returning its memory is worth a
	// collection.
	burstBytes = 256 << 20
	// idleBytes bounds the bytes allocated between two checks of an idle operator.
	idleBytes = 4 << 20
)

// allocationBurst detects the end of a burst of allocations. The Go runtime keeps freed memory for reuse, but an
// operator whose agents all wait needs little of it, perhaps for days.
type allocationBurst struct{ last, atLastBurst uint64 }

// over reports whether little was allocated since the last check and much before it.
func (b *allocationBurst) over(allocated uint64) bool {
	quiet := allocated-b.last < idleBytes
	b.last = allocated
	if !quiet || allocated-b.atLastBurst < burstBytes {
		return false
	}
	b.atLastBurst = allocated
	return true
}

// allocated returns the number of bytes that the process has allocated since it started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
