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
	// idleAfter is how long an agent that has nothing to do stays in memory: to read it again takes a few milliseconds.
	idleAfter = 15 * time.Second
	// tidyEvery is how often to look for such agents, and for an end of the work.
	tidyEvery = 2 * time.Second
)

// driver takes over the agents of the operator that was at work before, keeps memory free of those that only wait, and
// lets what is in flight finish at the end. It runs in the leader alone.
type driver struct {
	engine     *engine.Engine
	workspaces *workspace.Workspaces
	idle       time.Duration
	// suspects are the agents whose objects the cache did not have when they were to be taken over, and hasObject asks the API server.
	suspects  *suspects
	hasObject func(context.Context, ledger.Agent, bool) (bool, error)
	// wake lets the controllers look at everything: an operator that was at work in between may not have shown all that it did.
	wake func(context.Context) error
}

// suspects are agents whose objects may have been deleted while no operator was at work.
type suspects struct {
	mu   sync.Mutex
	list []ledger.Agent
}

func (s *suspects) add(agents ...ledger.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, agents...)
}

func (s *suspects) take() []ledger.Agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	return list
}

// judge ends the suspects whose objects are gone, and takes over the others. The API server is asked for each of them, so this comes
// after the others have been taken over; those of which it cannot say anything now are looked at again.
func (d driver) judge(ctx context.Context) error {
	var errs []error
	for _, a := range d.suspects.take() {
		there, err := d.hasObject(ctx, a, true)
		switch {
		case err != nil:
		case there:
			err = d.engine.TakeOver(ctx, a.UID)
		default:
			err = d.engine.End(a.UID)
		}
		if err != nil {
			d.suspects.add(a)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Start implements manager.Runnable. An operator that starts asks the one at work to hand over, so that a replacement has its turn at once;
// one that was followed only takes over again from an operator that is gone.
func (d driver) Start(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx)
	for handOver := true; ; handOver = false {
		if err := d.engine.Acquire(ctx, handOver); err != nil {
			if ctx.Err() != nil {
				return d.end(ctx)
			}
			return fmt.Errorf("wait for the operator that is at work: %w", err)
		}
		switch err := d.takeOver(ctx); {
		case errors.Is(err, engine.ErrFollowed):
			continue
		case err != nil:
			return err
		}
		if !handOver { // the controllers have looked at everything before
			if err := d.wake(ctx); err != nil {
				return err
			}
		}
		if err := d.work(ctx); !errors.Is(err, engine.ErrFollowed) {
			return err
		}
		log.Info("Another operator has taken over this ledger: standing by until it ends")
	}
}

// takeOver goes on with what the operator that was at work before has left.
func (d driver) takeOver(ctx context.Context) error {
	d.workspaces.Resume()
	if _, err := d.engine.Recover(ctx); err != nil {
		return fmt.Errorf("take over the live agents: %w", err)
	}
	if err := d.judge(ctx); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot tell whether the objects of some agents still exist")
	}
	return nil
}

// work tidies up until ctx ends or another operator has taken over.
func (d driver) work(ctx context.Context) error {
	held := make(chan error, 1)
	go func() { held <- d.engine.Hold(ctx) }()
	var b burst
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			d.engine.Evict(cmp.Or(d.idle, idleAfter))
			_ = d.judge(ctx) // it has said so once
			if b.over(allocated()) {
				debug.FreeOSMemory()
			}
		case err := <-held:
			if err != nil {
				return err
			}
			return d.end(ctx)
		}
	}
}

// end lets what is in flight finish.
func (d driver) end(ctx context.Context) error {
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(d.engine.Close(draining), d.workspaces.Close(draining)) // in this order: calls in flight use them
}

const (
	// much is how many bytes a burst of work allocates at least: what it leaves behind is worth giving back.
	much = 256 << 20
	// little is how many bytes are allocated between two looks while there is nothing to do.
	little = 4 << 20
)

// burst notices when much work has come to its end. Go would keep the memory for the next time; an operator whose agents all wait
// needs little, and may wait for days.
type burst struct{ seen, before uint64 }

// over says whether hardly anything has been allocated since the last look, and much before that.
func (b *burst) over(allocated uint64) bool {
	quiet := allocated-b.seen < little
	b.seen = allocated
	if !quiet || allocated-b.before < much {
		return false
	}
	b.before = allocated
	return true
}

// allocated is how many bytes the process has allocated since it began.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
