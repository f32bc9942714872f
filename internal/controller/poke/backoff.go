// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package poke

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A failed reconcile is tried again soon, and then less and less often. Nobody tells the operator that a quota which refused an answer was
// raised, or that the API server is back: somebody waits for it to notice, for mostBackoff at most. The default is a quarter of an hour.
const (
	firstBackoff = 5 * time.Millisecond
	mostBackoff  = 30 * time.Second
)

// Backoff is how long a controller waits before it looks again at an object after a failure.
func Backoff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, mostBackoff)
}
