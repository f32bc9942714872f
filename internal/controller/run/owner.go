// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// WhileOwner lets a controller act only while this operator owns the ledger. Before that, and after another operator has taken over, its
// view of agents may be stale.
func (r *Runner) WhileOwner(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		if err := r.Engine.AwaitRecovered(ctx); err != nil {
			return ctrl.Result{}, nil //nolint:nilerr // the operator ends
		}
		return next.Reconcile(ctx, request)
	})
}
