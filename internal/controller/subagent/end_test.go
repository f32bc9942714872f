// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package subagent

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
)

func TestAnEndIsShownAfterTheTaskHasShownIt(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	sub := &v1alpha1.SubAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "work"}, Spec: v1alpha1.SubAgentSpec{Task: "work"}}
	meta, controls := metav1.ObjectMeta{Namespace: "a", Name: "work", UID: "task"}, true
	sub.OwnerReferences = []metav1.OwnerReference{{Kind: "AgentTask", Name: "work", UID: "task", Controller: &controls}}
	again := &v1alpha1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "work", UID: "again"}}
	ended := metav1.Now()
	atWork := &v1alpha1.AgentTask{ObjectMeta: meta}
	told := &v1alpha1.AgentTask{ObjectMeta: meta, Status: v1alpha1.AgentTaskStatus{CompletionTime: &ended}}
	at := func(ago time.Duration) agent.Clock {
		return agent.Clock{Now: agent.Time(time.Now().Add(-ago).UnixMilli())}
	}
	for name, test := range map[string]struct {
		task  client.Object
		state agent.State
		waits bool
	}{
		"its task has not":              {atWork, agent.State{Phase: agent.PhaseCompleted, Clock: at(0)}, true},
		"its task has":                  {told, agent.State{Phase: agent.PhaseCompleted, Clock: at(0)}, false},
		"its task is gone":              {nil, agent.State{Phase: agent.PhaseCompleted, Clock: at(0)}, false},
		"its task was created again":    {again, agent.State{Phase: agent.PhaseCompleted, Clock: at(0)}, false},
		"its task cannot":               {atWork, agent.State{Phase: agent.PhaseCompleted, Clock: at(behindTask)}, false},
		"another clock is far ahead":    {atWork, agent.State{Phase: agent.PhaseCompleted, Clock: at(-time.Hour)}, false},
		"it is at work, and has no end": {atWork, agent.State{Phase: agent.PhaseRequesting, Clock: at(0)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			built := fake.NewClientBuilder().WithScheme(scheme)
			if test.task != nil {
				built = built.WithObjects(test.task)
			}
			r := &Reconciler{Client: built.Build()}
			wait, err := r.taskFirst(t.Context(), sub, test.state)
			if err != nil || (wait > 0) != test.waits || wait > behindTask {
				t.Errorf("it waits for %s (%v), want to wait: %t", wait, err, test.waits)
			}
		})
	}
}

func TestWhatMayBeShownLater(t *testing.T) {
	const active, waiting, asks = v1alpha1.SubAgentActive, v1alpha1.SubAgentWaitingForUser, v1alpha1.SubAgentAwaitingApproval
	for _, test := range []struct {
		before, next v1alpha1.SubAgentPhase
		later        bool
	}{
		{"", active, true}, {active, active, true}, {waiting, waiting, true}, {v1alpha1.SubAgentAwaitingSubAgents, active, true},
		{active, waiting, false}, {active, asks, false}, {waiting, active, false}, {asks, active, false}, {active, v1alpha1.SubAgentCompleted, false},
	} {
		if got := progress(v1alpha1.SubAgentStatus{Phase: test.before}, v1alpha1.SubAgentStatus{Phase: test.next}); got != test.later {
			t.Errorf("%q to %q may be shown later: %t", test.before, test.next, got)
		}
	}
	if progress(v1alpha1.SubAgentStatus{Phase: waiting, Question: "Which?"}, v1alpha1.SubAgentStatus{Phase: waiting, Question: "Why?"}) {
		t.Error("the next question may be shown later")
	}
}
