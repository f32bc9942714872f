// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestWorkersAreParallelAndReused runs more parallel jobs than there may be idle goroutines, twice.
func TestWorkersAreParallelAndReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		w := newWorkers(done)
		for range 2 {
			var all sync.WaitGroup
			together := make(chan struct{})
			for range 2 * maxIdleWorkers {
				all.Add(1)
				w.do(func() {
					defer all.Done()
					<-together // no job waits for another to end
				})
			}
			synctest.Wait()
			if idle := w.idle.Load(); idle != 0 {
				t.Errorf("%d goroutines are idle while %d jobs run", idle, 2*maxIdleWorkers)
			}
			close(together)
			all.Wait()
			synctest.Wait()
			if idle := w.idle.Load(); idle != maxIdleWorkers {
				t.Errorf("%d goroutines are idle after the jobs, want %d", idle, maxIdleWorkers)
			}
		}
		close(done) // the test ends only if the workers end
		synctest.Wait()
		if idle := w.idle.Load(); idle != 0 {
			t.Errorf("%d goroutines still exist", idle)
		}
	})
}

func TestIdleWorkersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkers(t.Context().Done())
		w.do(func() {})
		synctest.Wait()
		if idle := w.idle.Load(); idle != 1 {
			t.Errorf("%d goroutines are idle after a job, want 1", idle)
		}
		<-time.After(maxIdleTime)
		synctest.Wait()
		if idle := w.idle.Load(); idle != 0 {
			t.Errorf("%d goroutines are idle after %s", idle, maxIdleTime)
		}
	})
}

// A step needs a much deeper stack than a call, and calls wait for long: a thousand calls on the goroutines of steps held 60 MB
// of stacks.
func TestStepsAndCallsUseSeparateWorkers(t *testing.T) {
	w := newWorld(t, "nested-agents")
	e := w.current()
	w.chat(nil)
	w.sendMessage("m1", "Research the history of the lighthouse of Alexandria.")
	w.untilPosted("finished under Ptolemy II around 280 BC")
	w.until("the goroutines of steps and of calls to be idle", func() bool { return e.steps.idle.Load() > 0 && e.calls.idle.Load() > 0 })
}

// TestIdleWorkersAreBounded runs parallel jobs in every shard.
func TestIdleWorkersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRouter(Options{}, 8)
		var all sync.WaitGroup
		together := make(chan struct{})
		for i := range r.Shards() {
			for range maxIdleWorkers {
				all.Add(1)
				r.Engine(i).calls.do(func() {
					defer all.Done()
					<-together
				})
			}
		}
		close(together)
		all.Wait()
		synctest.Wait()
		pools := map[*workers]bool{}
		idle := int64(0)
		for i := range r.Shards() {
			if pool := r.Engine(i).calls; !pools[pool] {
				pools[pool] = true
				idle += pool.idle.Load()
			}
		}
		if idle != maxIdleWorkers {
			t.Errorf("%d goroutines are idle, want %d", idle, maxIdleWorkers)
		}
		r.close()
		synctest.Wait()
	})
}
