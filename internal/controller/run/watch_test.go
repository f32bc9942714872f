// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
)

func TestASubAgentIsWokenOnceWhenItsTaskHasShownTheEnd(t *testing.T) {
	now := metav1.Now()
	task := func(sub string, end *metav1.Time) *v1alpha1.AgentTask {
		return &v1alpha1.AgentTask{Status: v1alpha1.AgentTaskStatus{SubAgent: sub, CompletionTime: end}}
	}
	for name, test := range map[string]struct {
		before, after *v1alpha1.AgentTask
		wakes         bool
	}{
		"at work":                  {task("sub", nil), task("sub", nil), false},
		"its first status is last": {task("", nil), task("sub", &now), true},
		"it ends":                  {task("sub", nil), task("sub", &now), true},
		"it had ended":             {task("sub", &now), task("sub", &now), false},
		"it never had a sub-agent": {task("", nil), task("", &now), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Ended().Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got != test.wakes {
				t.Errorf("it wakes: %t", got)
			}
		})
	}
	if Ended().Create(event.CreateEvent{Object: task("sub", &now)}) || Ended().Delete(event.DeleteEvent{Object: task("sub", &now)}) {
		t.Error("a task that comes or goes wakes its sub-agent")
	}
}

func TestPeopleSeeAtOnceThatTheirAnswerWasHeard(t *testing.T) {
	sub := agent.Config{Kind: agent.SubAgent}
	active := agent.State{Phase: agent.PhaseRequesting, Config: sub}
	waiting := agent.State{Phase: agent.PhaseActing, Config: sub, Batch: []agent.BatchCall{{State: agent.CallAsked}}}
	if waiting.Stage() != agent.StageWaitingForUser {
		t.Fatalf("the agent's standing is %s: this test shows nothing", waiting.Stage())
	}
	for name, test := range map[string]struct {
		before, after agent.State
		urgent        bool
	}{
		"a question": {active, waiting, true},
		"an answer":  {waiting, active, true},
		"a turn":     {active, active, false},
	} {
		if got := Urgent(engine.Change{Before: test.before, After: test.after}); got != test.urgent {
			t.Errorf("%s is urgent: %t", name, got)
		}
	}
}
