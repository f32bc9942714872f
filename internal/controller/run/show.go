// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/controller/status"
)

// The API server is the scarce resource: however many agents are at work, progress may take this many writes a second.
// What must be seen at once is written at once and does not count.
const (
	progressRate  = 25
	progressBurst = 100
	progressWait  = time.Second
)

// NewPace returns what limits the writes that only show progress.
func NewPace() *rate.Limiter { return rate.NewLimiter(progressRate, progressBurst) }

// Show writes the status of an object, if it changed. A change that is only progress waits its turn.
func Show[T any](ctx context.Context, r *Runner, object client.Object, current *T, next T, progress bool) (ctrl.Result, error) {
	if equality.Semantic.DeepEqual(*current, next) {
		return ctrl.Result{}, nil
	}
	if progress && !r.Pace.Allow() {
		return ctrl.Result{RequeueAfter: progressWait}, nil
	}
	before := object.DeepCopyObject()
	*current = next
	if err := status.Update(ctx, r.Client, object); err != nil {
		return status.Result(err)
	}
	r.announce(before, object)
	return ctrl.Result{}, nil
}
