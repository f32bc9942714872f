// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync/atomic"
	"time"
)

// workers runs jobs on reused goroutines. Steps and calls need deep stacks, and growing the stack of a new goroutine
// for each of them cost an eighth of the engine's CPU.
type workers struct {
	jobs chan func()
	idle atomic.Int64
	// done is closed to end the idle goroutines.
	done <-chan struct{}
}

const (
	// maxIdleWorkers bounds the idle goroutines. The number of busy ones is not bounded.
	maxIdleWorkers = 128
	// maxIdleTime is how long a goroutine is idle before it ends: waiting costs nothing.
	maxIdleTime = 5 * time.Second
)

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
	for job != nil {
		job()
		job = w.next()
	}
}

// next returns the next job of an idle goroutine, or nil if it is no longer needed.
func (w *workers) next() func() {
	defer w.idle.Add(-1)
	if w.idle.Add(1) > maxIdleWorkers {
		return nil
	}
	timeout := time.NewTimer(maxIdleTime)
	defer timeout.Stop()
	select {
	case job := <-w.jobs:
		return job
	case <-timeout.C:
	case <-w.done:
	}
	return nil
}
