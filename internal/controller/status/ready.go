// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package status writes statuses: the Ready condition of roles, providers, policies and tool servers, and the statuses
// of agents that internal/projection computes.
package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// maxMessage is the maximum length of a condition's message in the API.
const maxMessage = 1024

// Ready returns the condition of an object that can be used.
func Ready(generation int64, message string) metav1.Condition {
	return metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonReady,
		Message: shorten.Head(message, maxMessage), ObservedGeneration: generation}
}

// NotReady returns the condition of an object that cannot be used, with the reason.
func NotReady(generation int64, reason, message string) metav1.Condition {
	return metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason,
		Message: shorten.Head(message, maxMessage), ObservedGeneration: generation}
}

// NotChecked returns the condition of an object whose first check has not finished.
func NotChecked(generation int64, message string) metav1.Condition {
	return metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1beta1.ReasonNotChecked,
		Message: shorten.Head(message, maxMessage), ObservedGeneration: generation}
}

// FromMissing converts a missing reference to a condition. It reports false for other errors.
func FromMissing(generation int64, err error) (metav1.Condition, bool) {
	var missing *resolve.Missing
	if !errors.As(err, &missing) {
		return metav1.Condition{}, false
	}
	return NotReady(generation, missing.Reason, missing.Message), true
}

// WriteCondition writes the Ready condition with its generation, and what change sets in the status of a role,
// provider, policy or tool server, if that is new. It emits an Event as the table of conditions has it.
func (w *Writer) WriteCondition(ctx context.Context, object client.Object, condition metav1.Condition, change func()) error {
	kind, err := w.Client.GroupVersionKindFor(object)
	if err != nil {
		return fmt.Errorf("write the status of %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	before := object.DeepCopyObject()
	observed, all := readinessOf(object)
	old := meta.FindStatusCondition(*all, condition.Type)
	if change != nil {
		change()
	}
	*observed = condition.ObservedGeneration
	*all = conditions.Set(*all, kind.Kind, condition, metav1.Now())
	if equality.Semantic.DeepEqual(before, object) {
		return nil
	}
	if err := Update(ctx, w.Client, object); err != nil {
		return err
	}
	w.record(object, kind.Kind, "Check", old, condition)
	return nil
}

// readinessOf returns the fields of a status that WriteCondition sets.
func readinessOf(object client.Object) (observed *int64, all *[]metav1.Condition) {
	switch o := object.(type) {
	case *v1beta1.AgentRole:
		return &o.Status.ObservedGeneration, &o.Status.Conditions
	case *v1beta1.ModelProvider:
		return &o.Status.ObservedGeneration, &o.Status.Conditions
	case *v1beta1.ToolPolicy:
		return &o.Status.ObservedGeneration, &o.Status.Conditions
	case *v1beta1.ToolServer:
		return &o.Status.ObservedGeneration, &o.Status.Conditions
	}
	panic(fmt.Sprintf("%T has no readiness that WriteCondition writes", object))
}

// Update writes the status of an object. A deleted object is not an error.
func Update(ctx context.Context, c client.Client, object client.Object) error {
	if err := client.IgnoreNotFound(c.Status().Update(ctx, object)); err != nil {
		return fmt.Errorf("write the status of %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	return nil
}

// conflictRetryDelay is the time for the cache to receive a change.
const conflictRetryDelay = 50 * time.Millisecond

// Result converts an error to the result of a reconcile. A conflict is no failure: the object is reconciled again.
func Result(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictRetryDelay}, nil
	}
	return ctrl.Result{}, err
}
