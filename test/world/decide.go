// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/stack"
)

// WaitForApproval waits until a task needs an approval, and returns the request as a client shows it.
func (r *Room) WaitForApproval(task string) v1beta1.Waiting {
	r.Test.Helper()
	var waiting *v1beta1.Waiting
	r.Eventually(func() (bool, error) {
		current, err := r.Task(task)()
		waiting = current.Status.Waiting
		return waiting != nil && waiting.Kind == v1beta1.WaitingApproval, err
	}).Should(BeTrue(), task+" needs an approval")
	return *waiting
}

// Decide decides about the call of a standalone task that was shown to a person.
func (r *Room) Decide(task string, shown v1beta1.Waiting, decision v1beta1.Decision, comment string) {
	r.Test.Helper()
	message := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{GenerateName: "decision-"}}
	message.Spec = v1beta1.AgentMessageSpec{Task: task, User: stack.Admin, Approval: &v1beta1.Approval{
		Task: task, ToolCall: shown.ToolCall, ArgumentsDigest: shown.ArgumentsDigest, Decision: decision, Comment: comment,
	}}
	r.Create(message)
}
