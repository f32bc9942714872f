// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A failed reconcile is retried soon, then less and less often. The operator gets no event when a quota that rejected
// an answer is raised, or when the API server is available again, so mostBackoff bounds the time until it notices. The
// default of controller-runtime is a quarter of an hour.
const (
	firstBackoff = 5 * time.Millisecond
	mostBackoff  = 30 * time.Second
)

// Backoff returns the rate limiter for the retries of failed reconciles.
func Backoff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, mostBackoff)
}
