// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
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

type cause struct {
	kind StandstillKind
	head string
}

// pausedPrefix is the common prefix of the reasons of a paused chat.
const pausedPrefix = "Paused"

// causes has the reasons that do not mean StandstillBlocked.
var causes = map[string]cause{
	v1beta1.ReasonPending:             {StandstillQueued, "Waiting for its turn"},
	v1beta1.ReasonParallelLimit:       {StandstillQueued, "Waiting for its turn"},
	v1beta1.ReasonRateLimited:         {StandstillWaiting, "Waiting: the model provider limits the rate of calls"},
	v1beta1.ReasonProviderUnavailable: {StandstillWaiting, "Waiting: the model provider does not answer"},
	v1beta1.ReasonRetrying:            {StandstillWaiting, "Waiting: the model call will be retried"},
	v1beta1.ReasonQueuedForProvider:   {StandstillWaiting, "Waiting: queued for the model provider"},
	v1beta1.ReasonLedgerUnavailable:   {StandstillWaiting, "Waiting: the ledger does not answer"},
	v1beta1.ReasonQuotaExhausted:      {StandstillOverQuota, "Waiting: the quota of the namespace is used up"},
	v1beta1.ReasonPausedTurnLimit:     {StandstillPaused, "Paused: too many turns without a person"},
	v1beta1.ReasonPausedTaskLimit:     {StandstillPaused, "Paused: too many tasks without a person"},
	v1beta1.ReasonPausedTokenLimit:    {StandstillPaused, "Paused: too many tokens without a person"},
	v1beta1.ReasonPausedLoop:          {StandstillPaused, "Paused: the same work was delegated repeatedly"},
}

// OfChat returns why a chat stands still, or nil.
func OfChat(chat *v1beta1.AgentChat) *Standstill {
	if chat == nil {
		return nil
	}
	conditions := chat.Status.Conditions
	ready := meta.FindStatusCondition(conditions, v1beta1.ConditionReady)
	switch {
	case noProgress(conditions) != nil:
		return newStandstill(noProgress(conditions), "")
	case ready != nil && ready.Status == metav1.ConditionFalse:
		return newStandstill(ready, "Cannot continue")
	case ready != nil && ready.Status == metav1.ConditionTrue && strings.HasPrefix(ready.Reason, pausedPrefix):
		return newStandstill(ready, "")
	}
	return nil
}

// OfTask returns why a task stands still, or nil.
func OfTask(task *v1beta1.AgentTask) *Standstill {
	if Ended(task.Status.Phase) {
		return nil
	}
	return ofRun(task.Status.Phase == v1beta1.TaskPending || task.Status.Phase == "", task.Status.Conditions)
}

// OfAgent returns why a sub-agent stands still, or nil.
func OfAgent(agent *v1beta1.SubAgent) *Standstill {
	return ofRun(agent.Status.Phase == v1beta1.SubAgentPending || agent.Status.Phase == "", agent.Status.Conditions)
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

// ofRun returns the standstill of a task or a sub-agent.
func ofRun(pending bool, conditions []metav1.Condition) *Standstill {
	if c := noProgress(conditions); c != nil {
		return newStandstill(c, "")
	}
	c := meta.FindStatusCondition(conditions, v1beta1.ConditionSucceeded)
	if c == nil || c.Status != metav1.ConditionUnknown {
		return nil
	}
	switch c.Reason {
	case v1beta1.ReasonRunning, v1beta1.ReasonWaitingForUser, v1beta1.ReasonWaitingForApproval:
		return nil
	}
	if pending {
		return newStandstill(c, "Cannot start")
	}
	return newStandstill(c, "Cannot continue")
}

func noProgress(conditions []metav1.Condition) *metav1.Condition {
	if c := meta.FindStatusCondition(conditions, v1beta1.ConditionReconciling); c != nil && c.Status == metav1.ConditionTrue {
		return c
	}
	return nil
}

func newStandstill(c *metav1.Condition, blocked string) *Standstill {
	known, ok := causes[c.Reason]
	switch {
	case ok:
	case strings.HasPrefix(c.Reason, pausedPrefix):
		known = cause{StandstillPaused, "Paused"}
	case c.Type == v1beta1.ConditionReconciling:
		known = cause{StandstillWaiting, "Waiting"}
	default:
		known = cause{StandstillBlocked, blocked}
	}
	return &Standstill{Kind: known.kind, Head: known.head, Reason: c.Reason, Message: c.Message, StartTime: c.LastTransitionTime}
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
