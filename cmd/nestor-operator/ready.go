// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// syncPatience is how long a readiness probe waits for the caches.
const syncPatience = time.Second

func cachesSynced(mgr ctrl.Manager) func(*http.Request) error {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), syncPatience)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches have not seen the cluster yet")
		}
		return nil
	}
}
