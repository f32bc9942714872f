// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	// ledgerTimeout is how long a reconcile waits for the ledger.
	ledgerTimeout = 10 * time.Second
	// afterOutage is how soon to look again at an object that the ledger keeps from going on. The backoff of failed reconciles grows further.
	afterOutage = 5 * time.Second
)

// Outage is why the ledger keeps an object from going on, as the reason and the message of a condition. It reports false for every other
// error. The message is the same for every attempt, so that an outage costs an object one write; the operator's log has the cause.
func (r *Runner) Outage(err error) (reason, message string, ok bool) {
	var failure *ledger.Error
	if !errors.As(err, &failure) {
		return "", "", false
	}
	if failure.Reason == ledger.ReasonQuota {
		return v1alpha1.ReasonLedgerQuota, fmt.Sprintf("The namespace has filled its share of the ledger: %s. Nothing is lost.", failure.Reason.Advice()), true
	}
	return string(failure.Reason), fmt.Sprintf("The ledger %s fails: %s. Nothing is lost.", r.LedgerName, failure.Reason.Advice()), true
}

// Interrupted sets the condition of an object that the ledger keeps from going on. It reports whether that was the error.
func (r *Runner) Interrupted(conditions *[]metav1.Condition, kind string, generation int64, err error) bool {
	reason, message, ok := r.Outage(err)
	if !ok {
		return false
	}
	condition := metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: reason, Message: message, ObservedGeneration: generation}
	if kind == v1alpha1.ConditionReady {
		condition.Status = metav1.ConditionFalse
	}
	meta.SetStatusCondition(conditions, condition)
	return true
}

// WasInterrupted says whether an object shows that the ledger keeps it from going on.
func WasInterrupted(conditions []metav1.Condition, kind string) bool {
	c := meta.FindStatusCondition(conditions, kind)
	return c != nil && strings.HasPrefix(c.Reason, "Ledger")
}

// ShowInterrupted writes the status of an object that the ledger keeps from going on, within the pace of all such writes, and looks again.
func ShowInterrupted[T any](ctx context.Context, r *Runner, object client.Object, current *T, next T) (ctrl.Result, error) {
	result, err := Show(ctx, r, object, current, next, true)
	if err == nil && result.IsZero() {
		result.RequeueAfter = AfterOutage()
	}
	return result, err
}

// AfterOutage is when to look again. Those who wait come one after the other.
func AfterOutage() time.Duration { return afterOutage + rand.N(afterOutage) }
