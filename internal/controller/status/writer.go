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

// Writer writes the statuses of chats, tasks and sub-agents.
type Writer struct {
	Client client.Client
	// Events are for what a person may want to act on; nil emits none.
	Events recorder.EventRecorder
	// Pace limits the writes that only show progress.
	Pace *Pace
}

// outageRetryDelay is how soon to look again at an object that the ledger keeps from going on. The backoff of failed reconciles grows further.
const outageRetryDelay = 5 * time.Second

// Write writes the status of an object, if it changed. A change that is only progress waits its turn.
func Write[T any](ctx context.Context, w *Writer, object client.Object, current *T, next T, progress bool) (ctrl.Result, error) {
	if equality.Semantic.DeepEqual(*current, next) {
		return ctrl.Result{}, nil
	}
	if progress {
		if again, allowed := w.Pace.allow(time.Now()); !allowed {
			return ctrl.Result{RequeueAfter: again}, nil
		}
	}
	before := object.DeepCopyObject()
	*current = next
	if err := Update(ctx, w.Client, object); err != nil {
		return Result(err)
	}
	w.recordEvent(before, object)
	return ctrl.Result{}, nil
}

// JoinError ends a reconcile that first brought about what an agent wants, and then showed how it stands: what could not be brought about is
// tried again, and does not keep the status from being written.
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

// WasInterrupted says whether an object shows that the ledger keeps it from going on.
func WasInterrupted(conditions []metav1.Condition, kind string) bool {
	c := meta.FindStatusCondition(conditions, kind)
	return c != nil && strings.HasPrefix(c.Reason, "Ledger")
}

// WriteInterrupted writes the status of an object that the ledger keeps from going on, within the pace of all such writes, and looks again.
func WriteInterrupted[T any](ctx context.Context, w *Writer, object client.Object, current *T, next T) (ctrl.Result, error) {
	result, err := Write(ctx, w, object, current, next, true)
	if err == nil && result.IsZero() {
		result.RequeueAfter = OutageRetryDelay()
	}
	return result, err
}

// OutageRetryDelay is when to look again. Those who wait come one after the other.
func OutageRetryDelay() time.Duration { return outageRetryDelay + rand.N(outageRetryDelay) }
