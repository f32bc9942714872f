// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// waits has the reasons that a run (condition Succeeded) and a chat (condition Ready) share. The page, the command
// line, the doors and the state of a namespace disagreed about those with a comment.
var waits = map[string]WaitKind{
	"QuotaExhausted":       WaitStateOverQuota, // queued on the page, an error on the doors, a failed chat in the inbox
	"LedgerUnavailable":    WaitStateWaiting,   // queued on the page, an error on the doors, a failed chat everywhere
	"LedgerQuota":          WaitStateBlocked,   // queued on the page, an error on the doors, nothing in the namespace's state
	"LedgerFull":           WaitStateBlocked,   // nothing on the command line and the page if the run had started
	"PriceUnknown":         WaitStateBlocked,
	"RoleNotFound":         WaitStateBlocked,
	"ProviderNotFound":     WaitStateBlocked,
	"ModelNotSet":          WaitStateBlocked,
	"SecretNotFound":       WaitStateBlocked,
	"APIKeyFileNotFound":   WaitStateBlocked,
	"IdentityNotAllowed":   WaitStateBlocked,
	"ConfigMapNotFound":    WaitStateBlocked,
	"ToolServerNotFound":   WaitStateBlocked,
	"ToolServerNotReady":   WaitStateBlocked,
	"ToolNotFound":         WaitStateBlocked,
	"WorkspaceUnavailable": WaitStateBlocked,
	"WorkspaceNotAllowed":  WaitStateBlocked,
	"SubAgentNotFound":     WaitStateBlocked,
}

// calls has the reasons of the condition Reconciling.
var calls = map[string]WaitKind{
	"RateLimited": WaitStateWaiting, "ProviderUnavailable": WaitStateWaiting, "Retrying": WaitStateWaiting, "QueuedForProvider": WaitStateWaiting,
}

func TestWaitStateOfARun(t *testing.T) {
	own := map[string]WaitKind{"Pending": WaitStateQueued, "ParallelLimit": WaitStateQueued, "Running": "", "WaitingForUser": "", "WaitingForApproval": ""}
	for _, reasons := range []map[string]WaitKind{own, waits, calls} {
		for reason, want := range reasons {
			conditions := condition("Succeeded", "Unknown", reason)
			if calls[reason] != "" {
				conditions = condition("Reconciling", "True", reason)
			}
			for phase, want := range map[v1beta1.TaskPhase]WaitKind{"": want, v1beta1.TaskPending: want, v1beta1.TaskRunning: want, v1beta1.TaskSuccess: ""} {
				task := &v1beta1.AgentTask{Status: v1beta1.AgentTaskStatus{Phase: phase, Conditions: conditions}}
				expectKind(t, "a task in phase "+string(phase), reason, OfTask(task), want)
			}
			expectKind(t, "a sub-agent", reason, OfAgent(&v1beta1.SubAgent{Status: v1beta1.SubAgentStatus{Conditions: conditions}}), want)
		}
	}
	failed := &v1beta1.AgentTask{Status: v1beta1.AgentTaskStatus{Phase: v1beta1.TaskRunning, Conditions: condition("Succeeded", "False", "ModelError")}}
	expectKind(t, "a failure", "ModelError", OfTask(failed), "")
}

func TestWaitStateOfAChat(t *testing.T) {
	own := map[string]WaitKind{"ModelError": WaitStateBlocked, "BudgetExhausted": WaitStateBlocked, "PostRefused": WaitStateBlocked, "HistoryLost": WaitStateBlocked}
	paused := map[string]WaitKind{"Ready": "", "PausedTurnLimit": WaitStatePaused, "PausedTaskLimit": WaitStatePaused, "PausedTokenLimit": WaitStatePaused,
		"PausedLoop": WaitStatePaused, "PausedOtherwise": WaitStatePaused}
	for _, part := range []struct {
		kind    string
		status  metav1.ConditionStatus
		reasons map[string]WaitKind
	}{{"Ready", "False", own}, {"Ready", "False", waits}, {"Ready", "True", paused}, {"Reconciling", "True", calls}, {"Ready", "Unknown", map[string]WaitKind{"Progressing": ""}}} {
		for reason, want := range part.reasons {
			chat := &v1beta1.AgentChat{Status: v1beta1.AgentChatStatus{Conditions: condition(part.kind, part.status, reason)}}
			expectKind(t, "a chat", reason, OfChat(chat), want)
		}
	}
	expectKind(t, "no chat", "", OfChat(nil), "")
}

func expectKind(t *testing.T, what, reason string, still *WaitState, want WaitKind) {
	t.Helper()
	switch {
	case still == nil && want != "" || still != nil && still.Kind != want:
		t.Errorf("%s with %s: %+v, want %q", what, reason, still, want)
	case still != nil && (still.Head == "" || still.Reason != reason || still.Message == ""):
		t.Errorf("%s with %s: %+v is incomplete", what, reason, still)
	}
}

func TestWaitStateInWords(t *testing.T) {
	for want, still := range map[string]WaitState{
		"paused (PausedTurnLimit): The message. Send a message to continue.": {Kind: WaitStatePaused, Reason: "PausedTurnLimit", Message: "The message"},
		"paused (PausedLoop): a loop. Send a message to continue.":           {Kind: WaitStatePaused, Reason: "PausedLoop", Message: "Paused: a loop. Send a message to continue."},
		"waits (RateLimited): The message":                                   {Kind: WaitStateWaiting, Reason: "RateLimited", Message: "The message"},
	} {
		if got := still.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNodeWaitState_AgentFirst: the sub-agent's conditions are newer than the task's.
func TestNodeWaitState_AgentFirst(t *testing.T) {
	task := v1beta1.AgentTask{Status: v1beta1.AgentTaskStatus{Phase: v1beta1.TaskRunning, Conditions: condition("Succeeded", "Unknown", "QuotaExhausted")}}
	agent := &v1beta1.SubAgent{Status: v1beta1.SubAgentStatus{Conditions: condition("Reconciling", "True", "RateLimited")}}
	if still := (&Node{Task: task, Agent: agent}).WaitState(); still == nil || still.Reason != "RateLimited" {
		t.Errorf("%+v", still)
	}
	agent.Status.Conditions = condition("Succeeded", "Unknown", "ParallelLimit")
	if still := (&Node{Task: task, Agent: agent}).WaitState(); still == nil || still.Reason != "QuotaExhausted" {
		t.Errorf("%+v", still)
	}
	task.Status.Conditions = nil
	if still := (&Node{Task: task, Agent: agent}).WaitState(); still != nil {
		t.Errorf("%+v", still)
	}
}
