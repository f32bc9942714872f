// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/nestor-dev/nestor/api/v1alpha1"
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
		"running":                   {task("sub", nil), task("sub", nil), false},
		"its first status is final": {task("", nil), task("sub", &now), true},
		"it ends":                   {task("sub", nil), task("sub", &now), true},
		"it had ended":              {task("sub", &now), task("sub", &now), false},
		"it never had a sub-agent":  {task("", nil), task("", &now), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Ended().Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got != test.wakes {
				t.Errorf("selected: %t", got)
			}
		})
	}
	if Ended().Create(event.CreateEvent{Object: task("sub", &now)}) || Ended().Delete(event.DeleteEvent{Object: task("sub", &now)}) {
		t.Error("the creation or deletion of a task enqueues its sub-agent")
	}
}

func TestATaskHearsWhyItsSubAgentDoesNotBegin(t *testing.T) {
	now := metav1.Now()
	failure := &v1alpha1.RunError{Kind: v1alpha1.ErrorCancelled}
	sub := func(phase v1alpha1.SubAgentPhase, start *metav1.Time, failure *v1alpha1.RunError) *v1alpha1.SubAgent {
		return &v1alpha1.SubAgent{Status: v1alpha1.SubAgentStatus{Phase: phase, StartTime: start, Error: failure}}
	}
	for name, test := range map[string]struct {
		before, after *v1alpha1.SubAgent
		wakes         bool
	}{
		"something is missing":        {sub("", nil, nil), sub(v1alpha1.SubAgentPending, nil, nil), true},
		"cancelled before it started": {sub("", nil, nil), sub(v1alpha1.SubAgentFailed, nil, failure), true},
		"its history is lost":         {sub(v1alpha1.SubAgentActive, &now, nil), sub(v1alpha1.SubAgentFailed, &now, failure), true},
		"it has started":              {sub("", nil, nil), sub(v1alpha1.SubAgentActive, &now, nil), false},
		"it has completed":            {sub(v1alpha1.SubAgentActive, &now, nil), sub(v1alpha1.SubAgentCompleted, &now, nil), false},
		"its status is unchanged":     {sub(v1alpha1.SubAgentPending, nil, nil), sub(v1alpha1.SubAgentPending, nil, nil), false},
	} {
		if got := PendingReasonChanged().Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got != test.wakes {
			t.Errorf("%s: selected: %t", name, got)
		}
	}
}

func TestAnObjectThatWasCreatedAgainIsEdited(t *testing.T) {
	chat := func(uid types.UID, generation int64, phase v1alpha1.ChatPhase) *v1alpha1.AgentChat {
		return &v1alpha1.AgentChat{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation}, Status: v1alpha1.AgentChatStatus{Phase: phase}}
	}
	for name, test := range map[string]struct {
		after  *v1alpha1.AgentChat
		edited bool
	}{
		"its status":    {chat("one", 1, v1alpha1.ChatRunning), false},
		"its spec":      {chat("one", 2, v1alpha1.ChatIdle), true},
		"created again": {chat("two", 1, v1alpha1.ChatIdle), true},
	} {
		if got := Edited().Update(event.UpdateEvent{ObjectOld: chat("one", 1, v1alpha1.ChatIdle), ObjectNew: test.after}); got != test.edited {
			t.Errorf("%s: edited %t", name, got)
		}
	}
}
