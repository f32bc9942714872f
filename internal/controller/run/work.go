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

// Now is the time that statuses of objects without a started agent are computed for.
func Now() agent.Time { return agent.Time(time.Now().UnixMilli()) }

// Work is what the engine knows of an agent beyond its state.
func (r *Runner) Work(ctx context.Context, namespace, uid string) projection.Work {
	work := projection.Work{Parked: r.Engine.Parked(uid)}
	if q, ok := r.Engine.WaitsForActiveQuota(ctx, namespace, uid); ok {
		work.Quota = quota.TooManyActive(q)
	}
	if q, ok := r.Engine.Queued(uid); ok {
		work.Queued = &projection.Queue{Provider: q.Provider, Since: agent.Time(q.Since.UnixMilli())}
	}
	return work
}
