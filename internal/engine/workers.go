// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "sync/atomic"

// workers runs jobs on reused goroutines. Steps and calls need deep stacks, and growing the stack of a new goroutine for each of
// them cost an eighth of the engine's CPU.
type workers struct {
	jobs chan func()
	idle atomic.Int64
	// done is closed to end the idle goroutines.
	done <-chan struct{}
}

// maxIdleWorkers bounds the idle goroutines. The number of busy ones is not bounded.
const maxIdleWorkers = 128

func newWorkers(done <-chan struct{}) *workers { return &workers{jobs: make(chan func()), done: done} }

// do runs a job on an idle goroutine, or on a new one. It never blocks.
func (w *workers) do(job func()) {
	select {
	case w.jobs <- job:
	default:
		go w.work(job)
	}
}

func (w *workers) work(job func()) {
	for {
		job()
		if w.idle.Add(1) > maxIdleWorkers {
			w.idle.Add(-1)
			return
		}
		select {
		case job = <-w.jobs:
			w.idle.Add(-1)
		case <-w.done:
			w.idle.Add(-1)
			return
		}
	}
}
