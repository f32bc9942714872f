// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"
	"testing"
	"testing/synctest"
)

// TestWorkersRunEveryJobAtOnceAndAreUsedAgain has more jobs at once than goroutines may be idle, twice.
func TestWorkersRunEveryJobAtOnceAndAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		w := newWorkers(done)
		for range 2 {
			var all sync.WaitGroup
			together := make(chan struct{})
			for range 2 * mostIdle {
				all.Add(1)
				w.do(func() {
					defer all.Done()
					<-together // no job waits for another one to end
				})
			}
			synctest.Wait()
			if idle := w.idle.Load(); idle != 0 {
				t.Errorf("%d goroutines are idle while %d jobs run", idle, 2*mostIdle)
			}
			close(together)
			all.Wait()
			synctest.Wait()
			if idle := w.idle.Load(); idle != mostIdle {
				t.Errorf("%d goroutines are idle after the jobs, want %d", idle, mostIdle)
			}
		}
		close(done) // the test ends only if they do
		synctest.Wait()
		if idle := w.idle.Load(); idle != 0 {
			t.Errorf("%d goroutines are left", idle)
		}
	})
}
