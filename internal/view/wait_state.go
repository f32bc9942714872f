// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
)

// WaitKind describes what ends a wait.
type WaitKind string

// The kinds of waits. docs/concepts/gateway.md has what each client shows or answers for them.
const (
	// WaitStateQueued: the work starts when it is its turn.
	WaitStateQueued WaitKind = "Queued"
	// WaitStateWaiting: a provider or the ledger has to answer again. The work resumes automatically.
	WaitStateWaiting WaitKind = "Waiting"
	// WaitStateOverQuota: the quota has to reset, to be raised, or to be freed by other work. The work resumes
	// automatically then.
	WaitStateOverQuota WaitKind = "OverQuota"
	// WaitStateBlocked: a person has to create or to repair something. The work resumes automatically then, except after a
	// failed model call.
	WaitStateBlocked WaitKind = "Blocked"
	// WaitStatePaused: a chat has reached a limit. Only a person's next message resumes it.
	WaitStatePaused WaitKind = "Paused"
)

// WaitState describes why a chat or a run makes no progress, although it neither has ended nor waits for a person.
type WaitState struct {
	Kind WaitKind `json:"kind"`
	// Head is the reason in a few words.
	Head string `json:"head"`
	// Reason and Message are those of the condition.
	Reason    string      `json:"reason"`
	Message   string      `json:"message"`
	StartTime metav1.Time `json:"startTime"`
}

// OfChat returns why a chat stands still, or nil.
func OfChat(chat *v1beta1.AgentChat) *WaitState {
	if chat == nil {
		return nil
	}
	return waitState("AgentChat", chat.Status.Conditions, v1beta1.ConditionReady, false)
}

// OfTask returns why a task stands still, or nil.
func OfTask(task *v1beta1.AgentTask) *WaitState {
	if Ended(task.Status.Phase) {
		return nil
	}
	pending := task.Status.Phase == v1beta1.TaskPending || task.Status.Phase == ""
	return waitState("AgentTask", task.Status.Conditions, v1beta1.ConditionSucceeded, pending)
}

// OfAgent returns why a sub-agent stands still, or nil.
func OfAgent(agent *v1beta1.SubAgent) *WaitState {
	pending := agent.Status.Phase == v1beta1.SubAgentPending || agent.Status.Phase == ""
	return waitState("SubAgent", agent.Status.Conditions, v1beta1.ConditionSucceeded, pending)
}

// WaitState returns why the work of a node stands still, or nil. A wait for its turn is not worth a note.
func (n *Node) WaitState() *WaitState {
	if still := n.waitState(); !still.Is(WaitStateQueued) {
		return still
	}
	return nil
}

func (n *Node) waitState() *WaitState {
	if n.Ended() {
		return nil
	}
	if n.Agent != nil {
		if still := OfAgent(n.Agent); still != nil && still.Kind != WaitStateQueued {
			return still
		}
	}
	return OfTask(&n.Task)
}

// waitState returns the wait state of an object of a kind, whose main condition is Ready or Succeeded.
func waitState(kind string, all []metav1.Condition, main string, pending bool) *WaitState {
	for _, name := range []string{v1beta1.ConditionReconciling, main} {
		c := meta.FindStatusCondition(all, name)
		if c == nil {
			continue
		}
		row, state, ok := conditions.Find(kind, *c)
		still := &WaitState{Kind: WaitKind(state.WaitState), Head: row.Head, Reason: c.Reason, Message: c.Message, StartTime: c.LastTransitionTime}
		if !ok {
			still.Kind, still.Head = unlisted(*c)
		}
		switch {
		case still.Kind == "":
			continue
		case still.Head == "" && pending:
			still.Head = "Cannot start"
		case still.Head == "":
			still.Head = "Cannot continue"
		}
		return still
	}
	return nil
}

// unlisted returns the wait state for a reason that is not in the table: a newer operator has set it.
func unlisted(c metav1.Condition) (kind WaitKind, head string) {
	switch {
	case c.Type == v1beta1.ConditionReconciling && c.Status == metav1.ConditionTrue:
		return WaitStateWaiting, "Waiting"
	case c.Type == v1beta1.ConditionReady && c.Status == metav1.ConditionTrue && strings.HasPrefix(c.Reason, "Paused"):
		return WaitStatePaused, "Paused"
	case c.Type == v1beta1.ConditionReady && c.Status == metav1.ConditionFalse,
		c.Type == v1beta1.ConditionSucceeded && c.Status == metav1.ConditionUnknown:
		return WaitStateBlocked, ""
	}
	return "", ""
}

// Is reports whether a wait state, which may be nil, is of a kind.
func (s *WaitState) Is(kind WaitKind) bool { return s != nil && s.Kind == kind }

// Condition returns the reason and the message.
func (s *WaitState) Condition() string { return s.Reason + ": " + s.Message }

// String returns the wait state as a sentence, with advice.
func (s *WaitState) String() string {
	if s.Kind != WaitStatePaused {
		return fmt.Sprintf("waits (%s): %s", s.Reason, s.Message)
	}
	text := sentence(strings.TrimPrefix(s.Message, "Paused: "))
	if !strings.Contains(text, "to continue") {
		text += " Send a message to continue."
	}
	return fmt.Sprintf("paused (%s): %s", s.Reason, text)
}

func sentence(text string) string {
	if text = strings.TrimSpace(text); text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}
