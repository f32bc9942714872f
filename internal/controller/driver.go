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
	"time"

	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/engine"
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
}

// Start implements manager.Runnable.
func (d driver) Start(ctx context.Context) error {
	if _, err := d.engine.Recover(ctx); err != nil {
		return fmt.Errorf("take over the live agents: %w", err)
	}
	var b burst
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			d.engine.Evict(cmp.Or(d.idle, idleAfter))
			if b.over(allocated()) {
				debug.FreeOSMemory()
			}
		case <-ctx.Done():
			draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
			defer cancel()
			return errors.Join(d.engine.Close(draining), d.workspaces.Close(draining)) // in this order: calls in flight use them
		}
	}
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
