// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
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
	select {
	case <-idle:
	case <-ctx.Done():
		e.cancel()
		<-idle
	}
	e.cancel()
	if e.closeShared {
		e.close()
	}
	releaseCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return e.releaseShard(releaseCtx)
}
