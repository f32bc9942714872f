// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// Standstill is why a chat or a run makes no progress although nothing failed: the chat is paused at a limit, a
// model call waits for its provider or a quota, or the run cannot start because something that it needs is missing.
type Standstill struct {
	Reason, Message string
	// Paused is set if only a person's next message resumes the chat. Otherwise the work resumes by itself.
	Paused bool
}

// pausedPrefix is the common prefix of the reasons of a paused chat.
const pausedPrefix = "Paused"

// StandstillOf returns the standstill that the conditions describe. It reports false if the work progresses or has
// failed.
func StandstillOf(conditions []metav1.Condition) (Standstill, bool) {
	for _, c := range conditions {
		waits := (c.Type == v1alpha1.ConditionProgressing && c.Status == metav1.ConditionFalse) ||
			(c.Reason == v1alpha1.ReasonQuotaExhausted && (c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionFalse || c.Type == v1alpha1.ConditionSucceeded && c.Status == metav1.ConditionUnknown))
		paused := c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionTrue && strings.HasPrefix(c.Reason, pausedPrefix)
		if waits || paused {
			return Standstill{Reason: c.Reason, Message: c.Message, Paused: paused}, true
		}
	}
	return Standstill{}, false
}

// Standstill returns why the work of a node makes no progress.
func (n *Node) Standstill() (Standstill, bool) {
	if n.Ended() {
		return Standstill{}, false
	}
	if n.Agent != nil {
		if s, ok := runStandstill(n.Agent.Status.Phase == v1alpha1.SubAgentPending, n.Agent.Status.Conditions); ok {
			return s, true
		}
	}
	return runStandstill(n.Task.Status.Phase == v1alpha1.TaskPending, n.Task.Status.Conditions)
}

// runStandstill returns the standstill of a run, or, if it is pending, why it cannot start. Waiting for its turn is
// no standstill.
func runStandstill(pending bool, conditions []metav1.Condition) (Standstill, bool) {
	if s, ok := StandstillOf(conditions); ok || !pending {
		return s, ok
	}
	c := meta.FindStatusCondition(conditions, v1alpha1.ConditionSucceeded)
	if c == nil || c.Status != metav1.ConditionUnknown || c.Reason == v1alpha1.ReasonPending || c.Reason == v1alpha1.ReasonParallelLimit {
		return Standstill{}, false
	}
	return Standstill{Reason: c.Reason, Message: c.Message}, true
}

// String returns the standstill as a sentence, with advice.
func (s Standstill) String() string {
	if s.Paused {
		text := sentence(strings.TrimPrefix(s.Message, "Paused: "))
		if !strings.Contains(text, "to continue") && !strings.Contains(text, "to go on") { // earlier releases wrote the second
			text += " Send a message to continue."
		}
		return fmt.Sprintf("paused (%s): %s", s.Reason, text)
	}
	return fmt.Sprintf("waits (%s): %s", s.Reason, s.Message)
}

func sentence(text string) string {
	if text = strings.TrimSpace(text); text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}
