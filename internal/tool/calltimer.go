// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"sync"
	"time"
)

// callTimer limits the time of a call. It stands still while the tool waits for a person.
type callTimer struct {
	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration
	started time.Time
	asking  int
	cancel  context.CancelCauseFunc
}

// newCallTimer returns a context that ends with the cause context.DeadlineExceeded after limit.
func newCallTimer(ctx context.Context, limit time.Duration) (context.Context, *callTimer) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := &callTimer{left: limit, started: time.Now(), cancel: cancel}
	t.timer = time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return ctx, t
}

// stop releases the timer and ends the context.
func (t *callTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
	t.cancel(nil)
}

// paused wraps ask so that the timer is suspended while it runs.
func (t *callTimer) paused(ask func(context.Context, string) (string, error)) func(context.Context, string) (string, error) {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, question string) (string, error) {
		t.pause()
		defer t.resume()
		return ask(ctx, question)
	}
}

func (t *callTimer) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asking++; t.asking == 1 && t.timer.Stop() {
		t.left -= time.Since(t.started)
	}
}

func (t *callTimer) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asking--; t.asking == 0 {
		t.started = time.Now()
		t.timer.Reset(max(t.left, time.Millisecond))
	}
}
