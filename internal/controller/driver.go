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

// driver takes over the agents of the previous operator, evicts agents that only wait, and drains calls in flight at shutdown. It runs
// only in the leader.
type driver struct {
	engine     *engine.Engine
	workspaces *workspace.Workspaces
	idle       time.Duration
	// unconfirmed are the agents whose objects were not in the cache at takeover; hasObject reads them from the API server.
	unconfirmed *unconfirmed
	hasObject   func(context.Context, ledger.Agent, bool) (bool, error)
	// wake enqueues every object: an operator that owned the ledger in between may not have written every status.
	wake func(context.Context) error
}

// unconfirmed are agents whose objects may have been deleted while no operator was running.
type unconfirmed struct {
	mu     sync.Mutex
	agents []ledger.Agent
}

func (s *unconfirmed) add(agents ...ledger.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents = append(s.agents, agents...)
}

func (s *unconfirmed) take() []ledger.Agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.agents
	s.agents = nil
	return list
}

// confirmObjects ends the suspects whose objects no longer exist and takes over the others. It reads each object from the API server, so it
// runs after all other agents have been taken over. Agents whose object cannot be read are retried later.
func (d driver) confirmObjects(ctx context.Context) error {
	var errs []error
	for _, a := range d.unconfirmed.take() {
		there, err := d.hasObject(ctx, a, true)
		switch {
		case err != nil:
		case there:
			err = d.engine.TakeOver(ctx, a.UID)
		default:
			err = d.engine.End(a.UID)
		}
		if err != nil {
			d.unconfirmed.add(a)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Start implements manager.Runnable. A starting operator asks the current owner to hand over, so that a replacement can work at once. An
// operator that was superseded takes over again only after the new owner has ended.
func (d driver) Start(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx)
	for handOver := true; ; handOver = false {
		if err := d.engine.Acquire(ctx, handOver); err != nil {
			if ctx.Err() != nil {
				return d.drain(ctx)
			}
			return fmt.Errorf("wait for the operator that owns the ledger: %w", err)
		}
		switch err := d.takeOver(ctx); {
		case errors.Is(err, engine.ErrSuperseded):
			continue
		case err != nil:
			return err
		}
		if !handOver { // the controllers reconciled everything before this operator owned the ledger
			if err := d.wake(ctx); err != nil {
				return err
			}
		}
		if err := d.maintain(ctx); !errors.Is(err, engine.ErrSuperseded) {
			return err
		}
		log.Info("Another operator has taken over this ledger: standing by until it ends")
	}
}

// takeOver resumes the agents that the previous operator left.
func (d driver) takeOver(ctx context.Context) error {
	d.workspaces.Resume()
	if _, err := d.engine.Recover(ctx); err != nil {
		return fmt.Errorf("take over the live agents: %w", err)
	}
	if err := d.confirmObjects(ctx); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot confirm whether the objects of some agents still exist")
	}
	return nil
}

// maintain evicts idle agents and returns memory until ctx ends or another operator takes over.
func (d driver) maintain(ctx context.Context) error {
	held := make(chan error, 1)
	go func() { held <- d.engine.OwnShard(ctx) }()
	var b allocationBurst
	ticker := time.NewTicker(evictInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			d.engine.EvictIdle(cmp.Or(d.idle, evictAfter))
			_ = d.confirmObjects(ctx) // the first failure was logged by takeOver
			if b.over(allocated()) {
				debug.FreeOSMemory()
			}
		case err := <-held:
			if err != nil {
				return err
			}
			return d.drain(ctx)
		}
	}
}

// drain waits for effects in flight.
func (d driver) drain(ctx context.Context) error {
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(d.engine.Close(draining), d.workspaces.Close(draining)) // in this order: calls in flight use them
}

const (
	// burstBytes is the number of bytes that a burst of work allocates at least; returning its memory is worth a collection.
	burstBytes = 256 << 20
	// idleBytes bounds the bytes allocated between two checks of an idle operator.
	idleBytes = 4 << 20
)

// allocationBurst detects the end of a burst of allocations. The Go runtime keeps freed memory for reuse, but an operator whose agents all
// wait needs little of it, perhaps for days.
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
