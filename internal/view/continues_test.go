// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestWorkThatContinuesWithoutPerson(t *testing.T) {
	in := func(phase v1beta1.TaskPhase, reason string) func(*v1beta1.AgentTask) {
		return func(t *v1beta1.AgentTask) {
			t.Status.Phase = phase
			t.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: reason}}
			if phase == v1beta1.TaskWaiting {
				t.Status.Waiting = &v1beta1.Waiting{Kind: v1beta1.WaitingApproval, Text: "bash {}", Tool: "bash"}
			}
		}
	}
	chat := v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}}
	chat.Status.Waiting = []v1beta1.ChatWaitingItem{{Task: "chat-1", Waiting: v1beta1.Waiting{Kind: v1beta1.WaitingApproval, Text: "bash {}", Tool: "bash"}}}
	waits := task("chat-1", "", in(v1beta1.TaskWaiting, v1beta1.ReasonWaitingForApproval))
	parent := v1beta1.SubAgent{ObjectMeta: metav1.ObjectMeta{Name: "chat-2"}, Status: v1beta1.SubAgentStatus{Phase: v1beta1.SubAgentWaitingForSubAgents}}
	for name, c := range map[string]struct {
		tasks []v1beta1.AgentTask
		want  bool
	}{
		"only one that waits":               {nil, false},
		"another one runs":                  {[]v1beta1.AgentTask{task("chat-3", "", in(v1beta1.TaskRunning, v1beta1.ReasonRunning))}, true},
		"another one is new":                {[]v1beta1.AgentTask{task("chat-3", "")}, true},
		"another one is about to start":     {[]v1beta1.AgentTask{task("chat-3", "", in(v1beta1.TaskPending, v1beta1.ReasonPending))}, true},
		"another one lacks its role":        {[]v1beta1.AgentTask{task("chat-3", "", in(v1beta1.TaskPending, v1beta1.ReasonRoleNotFound))}, false},
		"another one has ended":             {[]v1beta1.AgentTask{task("chat-3", "", in(v1beta1.TaskSuccess, v1beta1.ReasonSuccess))}, false},
		"the chat does not show a wait yet": {[]v1beta1.AgentTask{task("chat-3", "", in(v1beta1.TaskWaiting, v1beta1.ReasonWaitingForApproval))}, true},
		"a parent waits for a running child": {[]v1beta1.AgentTask{task("chat-2", "", in(v1beta1.TaskRunning, v1beta1.ReasonRunning)),
			task("chat-2-1", "chat-2", in(v1beta1.TaskRunning, v1beta1.ReasonRunning))}, true},
		"a parent waits for a queued child": {[]v1beta1.AgentTask{task("chat-2", "", in(v1beta1.TaskRunning, v1beta1.ReasonRunning)),
			task("chat-2-1", "chat-2", in(v1beta1.TaskPending, v1beta1.ReasonParallelLimit))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := Snapshot{Chats: []v1beta1.AgentChat{chat}, Tasks: append([]v1beta1.AgentTask{waits}, c.tasks...), Agents: []v1beta1.SubAgent{parent}}
			if got := s.Continues("chat"); got != c.want {
				t.Errorf("continues: %t, want %t", got, c.want)
			}
		})
	}
}

func TestSnapshotsAreSplitByNamespace(t *testing.T) {
	in := func(namespace string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: "chat"} }
	parts := Snapshot{
		Chats: []v1beta1.AgentChat{{ObjectMeta: in("b")}, {ObjectMeta: in("a")}}, Messages: []v1beta1.AgentMessage{{ObjectMeta: in("b")}},
		Tasks: []v1beta1.AgentTask{{ObjectMeta: in("c")}}, Agents: []v1beta1.SubAgent{{ObjectMeta: in("a")}},
	}.ByNamespace()
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	for i, want := range []struct {
		namespace                      string
		chats, messages, tasks, agents int
	}{{"a", 1, 0, 0, 1}, {"b", 1, 1, 0, 0}, {"c", 0, 0, 1, 0}} {
		p := parts[i]
		if p.Namespace != want.namespace || len(p.Chats) != want.chats || len(p.Messages) != want.messages || len(p.Tasks) != want.tasks || len(p.Agents) != want.agents {
			t.Errorf("part %d is %+v", i, p)
		}
	}
}
