// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttask

import (
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/projection"
)

// However many agents start, a person who has answered an agent sees at once that it continues.
func TestThatWorkBeginsCanWaitAndThatItGoesOnCannot(t *testing.T) {
	reconciler, api := reconcilerWith(t)
	show := func(name string, before v1alpha1.AgentTaskStatus) bool {
		t.Helper()
		task := &v1alpha1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
		if err := api.Create(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		task.Status = before
		_, err := reconciler.project(t.Context(), task, agent.State{Phase: agent.PhaseRequesting, ModelCall: &agent.ModelCall{ID: "m1", Attempt: 1}, Clock: agent.Clock{Started: 1000, Now: 2000}}, projection.Work{})
		if err != nil {
			t.Fatal(err)
		}
		var shown v1alpha1.AgentTask
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(task), &shown); err != nil {
			t.Fatal(err)
		}
		return shown.Status.Phase == v1alpha1.TaskRunning
	}
	for i := 0; show(strconv.Itoa(i), v1alpha1.AgentTaskStatus{}); i++ {
		if i == 1000 {
			t.Fatal("the starts of a thousand tasks are all written at once")
		}
	}
	waiting := v1alpha1.AgentTaskStatus{Phase: v1alpha1.TaskWaiting, Waiting: &v1alpha1.Waiting{Kind: v1alpha1.WaitingQuestion}}
	if !show("answered", waiting) {
		t.Error("the status of the answered task is delayed")
	}
}
