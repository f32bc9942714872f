// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// BlockedBy returns why a task cannot start without a change elsewhere, or "" if it can.
func BlockedBy(task *v1alpha1.AgentTask) string {
	if c := blockedBy(task); c != nil {
		return c.Reason + ": " + c.Message
	}
	return ""
}

// blockedBy returns the condition of a task that cannot start without a change elsewhere, or nil.
func blockedBy(task *v1alpha1.AgentTask) *metav1.Condition {
	c := meta.FindStatusCondition(task.Status.Conditions, v1alpha1.ConditionSucceeded)
	if task.Status.Phase != v1alpha1.TaskPending || c == nil || c.Reason == v1alpha1.ReasonPending || c.Reason == v1alpha1.ReasonParallelLimit {
		return nil
	}
	return c
}

// CannotStart returns the error of a Blocked event, for a client that would otherwise wait without knowing why. The task stays, and starts by
// itself when what is missing is there. A task whose role does not exist is cancelled: the caller most likely mistyped it.
func CannotStart(ctx context.Context, caller interface {
	Cancel(ctx context.Context, namespace, task, key string) error
}, event Event) error {
	task := event.Task
	if !strings.HasPrefix(event.Text, v1alpha1.ReasonRoleNotFound+":") {
		return apierrors.NewServiceUnavailable("the task " + task.Name + " cannot start yet: " + event.Text + " It starts by itself after that.")
	}
	if err := caller.Cancel(ctx, task.Namespace, task.Name, "no such role"); err != nil {
		return err
	}
	return NotFound(event.Text)
}

// NotFound returns a NotFound error with a message for people. [apierrors.NewNotFound] has a message of its own.
func NotFound(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: message}}
}
