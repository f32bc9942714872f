// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

type pendingBatch struct {
	batch *folded
	// done receives the outcome; it is buffered, so that the committer never waits for a caller.
	done chan error
}

// queue collects batches into groups. Its goroutine passes one group at a time to commit, which must answer each of its
// batches.
type queue struct {
	limit  int
	bytes  int
	commit func([]*pendingBatch)

	mu      sync.Mutex
	waiting []*pendingBatch
	closed  bool

	wake    chan struct{}
	stopped chan struct{}
}

func newQueue(limit, bytes int, commit func([]*pendingBatch)) *queue {
	q := &queue{limit: limit, bytes: bytes, commit: commit, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	go q.run()
	return q
}

// submit waits until the batch is written, or withdrawn because ctx ended first.
func (q *queue) submit(ctx context.Context, batch *folded) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := &pendingBatch{batch: batch, done: make(chan error, 1)}
	if !q.add(p) {
		return ledger.ErrClosed
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
	}
	if q.withdraw(p) {
		return ctx.Err()
	}
	return <-p.done
}

func (q *queue) add(p *pendingBatch) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, p)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// withdraw removes a batch; it fails if the batch is already being written or was answered.
func (q *queue) withdraw(p *pendingBatch) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, p)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

func (q *queue) run() {
	defer close(q.stopped)
	for range q.wake {
		for group := q.take(); len(group) > 0; group = q.take() {
			started := time.Now()
			q.commit(group)
			if len(group) < minGatherGroup {
				// Writers that were just answered may submit their next batches, which then join this group.
				runtime.Gosched()
				continue
			}
			q.gather(len(group), 2*time.Since(started))
		}
	}
}

const (
	// minGatherGroup is the minimum size of a group for which the next one waits: few writers should be answered soon.
	minGatherGroup = 8
	// maxGatherTime bounds how long a batch waits for others.
	maxGatherTime = 10 * time.Millisecond
)

// gather waits while there are many writers, until the next group is as large as the last one. A commit costs much more
// than a batch in it, so the slower commits are, the larger groups should be.
func (q *queue) gather(enough int, timeout time.Duration) {
	timer := time.NewTimer(min(timeout, maxGatherTime))
	defer timer.Stop()
	for q.length() < int64(enough) {
		select {
		case _, open := <-q.wake:
			if !open {
				return
			}
		case <-timer.C:
			return
		}
	}
}

// take removes the next group: all waiting batches within the limits, and at least one.
func (q *queue) take() []*pendingBatch {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for n < len(q.waiting) && n < q.limit {
		size += q.waiting[n].batch.size
		if n > 0 && size > q.bytes {
			break
		}
		n++
	}
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

func (q *queue) length() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return int64(len(q.waiting))
}

// close refuses waiting batches, lets the current group finish, and reports whether it was the first close.
func (q *queue) close() bool {
	q.mu.Lock()
	first := !q.closed
	if first {
		q.closed = true
		for _, p := range q.waiting {
			p.done <- ledger.ErrClosed
		}
		q.waiting = nil
		close(q.wake)
	}
	q.mu.Unlock()
	<-q.stopped
	return first
}
