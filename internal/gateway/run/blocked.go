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

// BlockedBy returns why a task has not started and may not start for a long time: something is missing, or a quota is
// used up. It returns "" if the caller should wait for it.
func BlockedBy(task *v1beta1.AgentTask) string {
	still := view.OfTask(task)
	if task.Status.Phase == v1beta1.TaskPending && (still.Is(view.WaitStateBlocked) || still.Is(view.WaitStateOverQuota)) {
		return still.Condition()
	}
	return ""
}

// ReasonCannotStart is the reason of a run that waits for a change elsewhere.
const ReasonCannotStart metav1.StatusReason = "CannotStart"

// CannotStart returns the error of a Blocked event, for a client that would otherwise wait without knowing why. The
// task stays, and starts when the missing object exists. A task that the request created for a role that does not exist
// is discarded: the caller most likely mistyped it. The status is 400, because clients repeat requests after most others, each of which
// would start one more run: OpenAI's after 408, 409, 429 and those from 500, LangChain after everything above 409.
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
