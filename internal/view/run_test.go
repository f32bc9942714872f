// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func day(n int) metav1.Time { return metav1.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }

func dayOf(n int) *metav1.Time {
	at := day(n)
	return &at
}

func runChat(created int, status v1beta1.AgentChatStatus) Run {
	return RunOfChat(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat", CreationTimestamp: day(created)}, Status: status})
}

func runTask(created int, status v1beta1.AgentTaskStatus) Run {
	return RunOfTask(&v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "task", CreationTimestamp: day(created)}, Status: status})
}

func waitingSince(n int) v1beta1.AgentChatStatus {
	waiting := v1beta1.Waiting{Kind: v1beta1.WaitingQuestion, Text: "Which year?", StartTime: dayOf(n)}
	return v1beta1.AgentChatStatus{Phase: v1beta1.ChatWaiting, Waiting: []v1beta1.ChatWaitingItem{{Task: "t", Waiting: waiting}}}
}

func TestOrderOfRuns(t *testing.T) {
	asks := v1beta1.AgentTaskStatus{Phase: v1beta1.TaskWaiting, Waiting: &v1beta1.Waiting{Kind: v1beta1.WaitingApproval, Text: "notes__add {}", Tool: "notes__add", StartTime: dayOf(6)}}
	runs := map[string]Run{
		"old": runChat(1, v1beta1.AgentChatStatus{}), "new": runChat(5, v1beta1.AgentChatStatus{}),
		"waits shortly": runChat(4, waitingSince(4)), "waits long": runChat(1, waitingSince(2)), "asks": runTask(6, asks),
		"works":  runTask(3, v1beta1.AgentTaskStatus{Phase: v1beta1.TaskRunning}),
		"talked": runChat(1, v1beta1.AgentChatStatus{LastMessageTime: dayOf(8)}),
		"ended":  runTask(2, v1beta1.AgentTaskStatus{Phase: v1beta1.TaskSuccess, CompletionTime: dayOf(7)}),
	}
	names := []string{"old", "new", "waits shortly", "waits long", "asks", "works", "talked", "ended"}
	slices.SortFunc(names, func(a, b string) int { return runs[a].Compare(runs[b]) })
	if diff := cmp.Diff([]string{"waits long", "waits shortly", "asks", "works", "talked", "ended", "new", "old"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestStateOfARun(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: kind, Status: status, Reason: reason}}
	}
	leftover := waitingSince(1)
	leftover.Phase = v1beta1.ChatIdle
	pending := func(reason string) v1beta1.AgentTaskStatus {
		return v1beta1.AgentTaskStatus{Phase: v1beta1.TaskPending, Conditions: condition(v1beta1.ConditionSucceeded, metav1.ConditionUnknown, reason)}
	}
	for name, c := range map[string]struct {
		run   Run
		badge Badge
		state State
		asks  int
	}{
		"a chat that waits":                  {runChat(1, waitingSince(1)), BadgeWaiting, StateWaiting, 1},
		"a chat that does not wait any more": {runChat(1, leftover), BadgeIdle, StateDone, 0},
		"a chat that works":                  {runChat(1, v1beta1.AgentChatStatus{Phase: v1beta1.ChatRunning}), BadgeRunning, StateActive, 0},
		"a chat at its quota": {runChat(1, v1beta1.AgentChatStatus{Phase: v1beta1.ChatRunning,
			Conditions: condition(v1beta1.ConditionReconciling, metav1.ConditionTrue, v1beta1.ReasonQuotaExhausted)}), BadgePending, StateActive, 0},
		"a chat that cannot answer":  {runChat(1, v1beta1.AgentChatStatus{Conditions: condition(v1beta1.ConditionReady, metav1.ConditionFalse, "ModelError")}), BadgeFailed, StateFailed, 0},
		"a task that waits its turn": {runTask(1, pending(v1beta1.ReasonPending)), BadgePending, StateActive, 0},
		"a task without its role":    {runTask(1, pending("RoleNotFound")), BadgePending, StateFailed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if c.run.Badge != c.badge || c.run.State != c.state || len(c.run.Asks) != c.asks {
				t.Errorf("%s, %s, %d asks", c.run.Badge, c.run.State, len(c.run.Asks))
			}
		})
	}
}

func TestTitleOfAChat(t *testing.T) {
	for name, c := range map[string]struct{ given, proposed, firstWords, want string }{
		"given":       {" The release ", "Releases", "What?", "The release"},
		"only spaces": {"  ", "", "", "a-b-c"},
		"proposed":    {"", "Releases", "What?", "Releases"},
		"first words": {"", "", "What was released?", "What was released?"},
	} {
		t.Run(name, func(t *testing.T) {
			chat := v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "a-b-c", Annotations: map[string]string{
				v1beta1.AnnotationTitle: c.given, v1beta1.AnnotationFirstWords: c.firstWords}}}
			chat.Status.Title = c.proposed
			if got := RunOfChat(&chat).Title; got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestBadges(t *testing.T) {
	for name, c := range map[string]struct {
		phase  v1beta1.TaskPhase
		err    v1beta1.ErrorKind
		agent  v1beta1.SubAgentPhase
		cancel bool
		want   Badge
	}{
		"new":          {"", "", "", false, BadgePending},
		"running":      {v1beta1.TaskRunning, "", v1beta1.SubAgentActive, false, BadgeRunning},
		"delegating":   {v1beta1.TaskRunning, "", v1beta1.SubAgentWaitingForSubAgents, false, BadgeDelegating},
		"waiting":      {v1beta1.TaskWaiting, "", v1beta1.SubAgentWaitingForUser, false, BadgeWaiting},
		"success":      {v1beta1.TaskSuccess, "", "", false, BadgeSuccess},
		"failed":       {v1beta1.TaskFailed, v1beta1.ErrorModel, "", false, BadgeFailed},
		"out of time":  {v1beta1.TaskFailed, v1beta1.ErrorTimedOut, "", false, BadgeTimedOut},
		"cancelled":    {v1beta1.TaskCancelled, v1beta1.ErrorCancelled, "", true, BadgeCancelled},
		"cancelling":   {v1beta1.TaskRunning, "", v1beta1.SubAgentCancelling, false, BadgeCancelling},
		"to be ended":  {v1beta1.TaskWaiting, "", "", true, BadgeCancelling},
		"failed first": {v1beta1.TaskFailed, v1beta1.ErrorModel, "", true, BadgeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			n := Node{Task: v1beta1.AgentTask{Spec: v1beta1.AgentTaskSpec{Cancel: c.cancel}, Status: v1beta1.AgentTaskStatus{Phase: c.phase}}}
			if c.err != "" {
				n.Task.Status.Error = &v1beta1.RunError{Kind: c.err}
			}
			if c.agent != "" {
				n.Agent = &v1beta1.SubAgent{Status: v1beta1.SubAgentStatus{Phase: c.agent}}
			}
			if got := n.Badge(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
