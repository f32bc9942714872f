// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// Writer writes statuses, and emits Events.
type Writer struct {
	Client client.Client
	// Events records the Events that a person may act on; if nil, none are emitted.
	Events recorder.EventRecorder
	// Pace limits the writes that only show progress.
	Pace *Pace
}

// outageRetryDelay is the delay before an object that the ledger blocks is reconciled again. The backoff of failed
// reconciles grows further.
const outageRetryDelay = 5 * time.Second

// Write writes the status of an object if it changed. A change that only shows progress may be delayed.
func (w *Writer) Write(ctx context.Context, before, after client.Object, progress bool) (ctrl.Result, error) {
	if equality.Semantic.DeepEqual(before, after) {
		return ctrl.Result{}, nil
	}
	if progress {
		if again, allowed := w.Pace.allow(time.Now()); !allowed {
			return ctrl.Result{RequeueAfter: again}, nil
		}
	}
	if err := Update(ctx, w.Client, after); err != nil {
		return Result(err)
	}
	w.recordEvent(before, after)
	return ctrl.Result{}, nil
}

// JoinError ends a reconcile that first applied an agent's state and then wrote the status. An error of the first part
// causes a retry, and does not prevent the status write.
func JoinError(applied error) func(ctrl.Result, error) (ctrl.Result, error) {
	return func(shown ctrl.Result, err error) (ctrl.Result, error) {
		if applied == nil {
			return shown, err
		}
		if err != nil {
			return ctrl.Result{}, errors.Join(applied, err)
		}
		return Result(applied)
	}
}

// WasInterrupted reports whether the conditions of an object show that the ledger blocks it.
func WasInterrupted(conditions []metav1.Condition, kind string) bool {
	c := meta.FindStatusCondition(conditions, kind)
	return c != nil && strings.HasPrefix(c.Reason, "Ledger")
}

// WriteInterrupted writes the status of an object that the ledger blocks, within the pace of all such writes, and
// requeues it.
func (w *Writer) WriteInterrupted(ctx context.Context, before, after client.Object) (ctrl.Result, error) {
	result, err := w.Write(ctx, before, after, true)
	if err == nil && result.IsZero() {
		result.RequeueAfter = OutageRetryDelay()
	}
	return result, err
}

// OutageRetryDelay returns a random delay for the next reconcile, so that the waiting objects are spread over time.
func OutageRetryDelay() time.Duration { return outageRetryDelay + rand.N(outageRetryDelay) }
