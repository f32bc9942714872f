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

// StandstillKind is what ends a standstill.
type StandstillKind string

// The kinds of standstills. docs/concepts/gateway.md has what each client shows or answers for them.
const (
	// StandstillQueued: the work starts when it is its turn.
	StandstillQueued StandstillKind = "Queued"
	// StandstillWaiting: a provider or the ledger has to answer again. The work resumes automatically.
	StandstillWaiting StandstillKind = "Waiting"
	// StandstillOverQuota: the quota has to reset, to be raised, or to be freed by other work. The work resumes automatically then.
	StandstillOverQuota StandstillKind = "OverQuota"
	// StandstillBlocked: a person has to create or to repair something. The work resumes automatically then, except after a
	// failed model call.
	StandstillBlocked StandstillKind = "Blocked"
	// StandstillPaused: a chat has reached a limit. Only a person's next message resumes it.
	StandstillPaused StandstillKind = "Paused"
)

// Standstill is why a chat or a run that has not ended makes no progress, although it waits for no person's answer.
type Standstill struct {
	Kind StandstillKind `json:"kind"`
	// Head is the reason in a few words.
	Head string `json:"head"`
	// Reason and Message are those of the condition.
	Reason    string      `json:"reason"`
	Message   string      `json:"message"`
	StartTime metav1.Time `json:"startTime"`
}

// OfChat returns why a chat stands still, or nil.
func OfChat(chat *v1beta1.AgentChat) *Standstill {
	if chat == nil {
		return nil
	}
	return standstill("AgentChat", chat.Status.Conditions, v1beta1.ConditionReady, false)
}

// OfTask returns why a task stands still, or nil.
func OfTask(task *v1beta1.AgentTask) *Standstill {
	if Ended(task.Status.Phase) {
		return nil
	}
	pending := task.Status.Phase == v1beta1.TaskPending || task.Status.Phase == ""
	return standstill("AgentTask", task.Status.Conditions, v1beta1.ConditionSucceeded, pending)
}

// OfAgent returns why a sub-agent stands still, or nil.
func OfAgent(agent *v1beta1.SubAgent) *Standstill {
	pending := agent.Status.Phase == v1beta1.SubAgentPending || agent.Status.Phase == ""
	return standstill("SubAgent", agent.Status.Conditions, v1beta1.ConditionSucceeded, pending)
}

// Standstill returns why the work of a node stands still, or nil. A wait for its turn is not worth a note.
func (n *Node) Standstill() *Standstill {
	if still := n.standstill(); !still.Is(StandstillQueued) {
		return still
	}
	return nil
}

func (n *Node) standstill() *Standstill {
	if n.Ended() {
		return nil
	}
	if n.Agent != nil {
		if still := OfAgent(n.Agent); still != nil && still.Kind != StandstillQueued {
			return still
		}
	}
	return OfTask(&n.Task)
}

// standstill returns the standstill of an object of a kind, whose main condition is Ready or Succeeded.
func standstill(kind string, all []metav1.Condition, main string, pending bool) *Standstill {
	for _, name := range []string{v1beta1.ConditionReconciling, main} {
		c := meta.FindStatusCondition(all, name)
		if c == nil {
			continue
		}
		row, state, known := conditions.Find(kind, *c)
		still := &Standstill{Kind: StandstillKind(state.Standstill), Head: row.Head, Reason: c.Reason, Message: c.Message, StartTime: c.LastTransitionTime}
		if !known {
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

// unlisted returns the standstill for a reason that is not in the table: a newer operator has set it.
func unlisted(c metav1.Condition) (kind StandstillKind, head string) {
	switch {
	case c.Type == v1beta1.ConditionReconciling && c.Status == metav1.ConditionTrue:
		return StandstillWaiting, "Waiting"
	case c.Type == v1beta1.ConditionReady && c.Status == metav1.ConditionTrue && strings.HasPrefix(c.Reason, "Paused"):
		return StandstillPaused, "Paused"
	case c.Type == v1beta1.ConditionReady && c.Status == metav1.ConditionFalse,
		c.Type == v1beta1.ConditionSucceeded && c.Status == metav1.ConditionUnknown:
		return StandstillBlocked, ""
	}
	return "", ""
}

// Is reports whether a standstill, which may be nil, is of a kind.
func (s *Standstill) Is(kind StandstillKind) bool { return s != nil && s.Kind == kind }

// Condition returns the reason and the message.
func (s *Standstill) Condition() string { return s.Reason + ": " + s.Message }

// String returns the standstill as a sentence, with advice.
func (s *Standstill) String() string {
	if s.Kind != StandstillPaused {
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
