// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/projection"
	"github.com/nestor-dev/nestor/internal/quota"
)

// Now returns the time for the statuses of objects whose agent has not started.
func Now() agent.Time { return agent.Time(time.Now().UnixMilli()) }

// Work returns the engine's information about an agent that is not in its state.
func (r *Runner) Work(ctx context.Context, namespace, uid string) projection.Work {
	work := projection.Work{Parked: r.Engine.Parked(uid)}
	if q, ok := r.Engine.WaitsForActiveQuota(ctx, namespace, uid); ok {
		work.Quota = quota.TooManyActive(q)
	}
	if q, ok := r.Engine.Queued(uid); ok {
		work.Queued = &projection.Queue{Provider: q.Provider, Since: agent.Time(q.Since.UnixMilli())}
	}
	work.Progress = r.Engine.Progress(uid)
	return work
}
