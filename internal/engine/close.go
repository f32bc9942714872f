// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Close stops the engine. Effects in flight may finish and be recorded until ctx ends; then they are cancelled.
func (e *Engine) Close(ctx context.Context) error {
	e.actors.close()
	for _, a := range e.allActors() {
		a.quiesce()
	}
	idle := make(chan struct{})
	go func() {
		e.busy.Wait()
		close(idle)
	}()
	fence, _ := e.ownership.current()
	ticker := time.NewTicker(renewInterval)
	defer ticker.Stop()
	for waiting := true; waiting; {
		select {
		case <-idle:
			waiting = false
		case <-ticker.C: // answer requests, so that a successor waits for the calls in flight
			if fence != (ledger.Fence{}) {
				_, _ = e.answerRequest(ctx, fence)
			}
		case <-ctx.Done():
			e.cancel()
			<-idle
			waiting = false
		}
	}
	e.cancel()
	if e.closeShared {
		e.close()
	}
	releaseCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return e.releaseShard(releaseCtx)
}
