// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

const (
	// wakeDelay lets shards that are taken over at the same time share one pass over all objects.
	wakeDelay = 20 * time.Millisecond
	// wakeRetryDelay is the delay before objects are enqueued again after a failure.
	wakeRetryDelay = time.Second
)

// shardWaker enqueues the objects of shards that were taken over.
type shardWaker struct {
	// enqueue enqueues the objects of some shards.
	enqueue func(ctx context.Context, shards map[int]bool) error
	log     logr.Logger

	mu      sync.Mutex
	pending map[int]bool
	running bool
}

// wake enqueues the objects of a shard soon.
func (w *shardWaker) wake(ctx context.Context, shard int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending == nil {
		w.pending = map[int]bool{}
	}
	w.pending[shard] = true
	if !w.running {
		w.running = true
		go w.run(context.WithoutCancel(ctx))
	}
}

// run enqueues objects until no shard is pending.
func (w *shardWaker) run(ctx context.Context) {
	for delay := wakeDelay; ; delay = wakeDelay {
		<-time.After(delay)
		shards := w.take()
		if shards == nil {
			return
		}
		if err := w.enqueue(ctx, shards); err != nil {
			w.log.Error(err, "Cannot enqueue the objects of shards that were taken over, retrying")
			<-time.After(wakeRetryDelay)
			for shard := range shards {
				w.wake(ctx, shard)
			}
		}
	}
}

// take returns the pending shards, or nil if there are none; then run ends.
func (w *shardWaker) take() map[int]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	shards := w.pending
	w.pending = nil
	w.running = shards != nil
	return shards
}
