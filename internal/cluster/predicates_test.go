// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestTaskFollowsSubAgentStatus(t *testing.T) {
	now := metav1.Now()
	sub := func(phase v1beta1.SubAgentPhase, start, end *metav1.Time) *v1beta1.SubAgent {
		return &v1beta1.SubAgent{Status: v1beta1.SubAgentStatus{Phase: phase, StartTime: start, CompletionTime: end}}
	}
	for name, test := range map[string]struct {
		before, after *v1beta1.SubAgent
		wakes         bool
	}{
		"something is missing":        {sub("", nil, nil), sub(v1beta1.SubAgentPending, nil, nil), true},
		"cancelled before it started": {sub("", nil, nil), sub(v1beta1.SubAgentFailed, nil, &now), true},
		"its history is lost":         {sub(v1beta1.SubAgentActive, &now, nil), sub(v1beta1.SubAgentFailed, &now, &now), true},
		"it has started":              {sub("", nil, nil), sub(v1beta1.SubAgentActive, &now, nil), false},
		"it has completed":            {sub(v1beta1.SubAgentActive, &now, nil), sub(v1beta1.SubAgentCompleted, &now, &now), true},
		"it had completed":            {sub(v1beta1.SubAgentCompleted, &now, &now), sub(v1beta1.SubAgentCompleted, &now, &now), false},
		"its status is unchanged":     {sub(v1beta1.SubAgentPending, nil, nil), sub(v1beta1.SubAgentPending, nil, nil), false},
	} {
		if got := ShownByTask().Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got != test.wakes {
			t.Errorf("%s: selected: %t", name, got)
		}
	}
	if !ShownByTask().Create(event.CreateEvent{Object: sub(v1beta1.SubAgentCompleted, &now, &now)}) {
		t.Error("an end that arrives with the creation is not selected")
	}
}

func TestRecreatedObjectIsEdited(t *testing.T) {
	chat := func(uid types.UID, generation int64, phase v1beta1.ChatPhase) *v1beta1.AgentChat {
		return &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation}, Status: v1beta1.AgentChatStatus{Phase: phase}}
	}
	for name, test := range map[string]struct {
		after  *v1beta1.AgentChat
		edited bool
	}{
		"its status":    {chat("one", 1, v1beta1.ChatRunning), false},
		"its spec":      {chat("one", 2, v1beta1.ChatIdle), true},
		"created again": {chat("two", 1, v1beta1.ChatIdle), true},
	} {
		if got := Edited().Update(event.UpdateEvent{ObjectOld: chat("one", 1, v1beta1.ChatIdle), ObjectNew: test.after}); got != test.edited {
			t.Errorf("%s: edited %t", name, got)
		}
	}
}
