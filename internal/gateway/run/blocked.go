// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/view"
)

// BlockedBy returns why a task may not start for a long time: an object is missing, or a quota is used up. It returns
// "" if the caller should wait for the task.
func BlockedBy(task *v1beta1.AgentTask) string {
	wait := view.OfTask(task)
	if task.Status.Phase == v1beta1.TaskPending && (wait.Is(view.WaitStateBlocked) || wait.Is(view.WaitStateOverQuota)) {
		return wait.Condition()
	}
	return ""
}

// ReasonCannotStart is the reason of a run that waits for a change elsewhere.
const ReasonCannotStart metav1.StatusReason = "CannotStart"

// CannotStart returns the error of a Blocked event. The task remains, and starts when the missing object exists. If
// the request created the task and its role does not exist, the name was most likely mistyped, and the task is
// discarded.
//
// The status is 400, because clients repeat requests after most other ones, and each repetition would start another
// run: OpenAI's clients after 408, 409, 429 and from 500 on, LangChain after everything above 409.
func CannotStart(ctx context.Context, caller interface {
	Discard(ctx context.Context, task *v1beta1.AgentTask) (suggestion string, err error)
}, event Event, created bool) error {
	task := event.Task
	if !created || !strings.HasPrefix(event.Text, v1beta1.ReasonRoleNotFound+":") {
		return failure(http.StatusBadRequest, ReasonCannotStart, "the task "+task.Name+" cannot start yet: "+event.Text+
			" It starts automatically after that: do not send the request again.")
	}
	suggestion, err := caller.Discard(ctx, task)
	if err != nil {
		return err
	}
	return NotFound(strings.TrimSuffix(event.Text, ".") + suggestion)
}

// NotFound returns a NotFound error with a message for people. [apierrors.NewNotFound] has a message of its own.
func NotFound(message string) error {
	return failure(http.StatusNotFound, metav1.StatusReasonNotFound, message)
}

func failure(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}
