// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package conditions is the table of the conditions of Nestor's kinds and their reasons. It is generated from
// api/v1beta1/conditions.yaml, which describes the columns.
package conditions

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Reason is a reason of conditions.
type Reason struct {
	Text, Todo string
	// Head is the wait in a few words, if it has words of its own.
	Head string
	// Problem and Severity are set if work of many objects may wait for the same cause.
	Problem, Severity string
	States            []State
}

// State is a status of a condition that may have the reason.
type State struct {
	Condition string
	Status    metav1.ConditionStatus
	Kinds     []string
	Group     string
	// Stalled reports that a person must act.
	Stalled bool
	// Doctor is OK, Warning or Failed.
	Doctor    string
	WaitState string
	// Event is the type of the Event that a new condition emits, if any.
	Event string
}

// Find returns the row of an object's condition, or false if the table has none: another program, or a newer operator, has written
// the condition.
func Find(kind string, c metav1.Condition) (Reason, State, bool) {
	row, ok := reasons[c.Reason]
	i := slices.IndexFunc(row.States, func(s State) bool {
		own := s.Condition == c.Type && s.Status == c.Status
		stalled := s.Stalled && c.Type == v1beta1.ConditionStalled && c.Status == metav1.ConditionTrue
		return (own || stalled) && slices.Contains(s.Kinds, kind)
	})
	if !ok || i < 0 {
		return Reason{}, State{}, false
	}
	return row, row.States[i], true
}

// Problem returns the row of a reason for which work of many objects may wait, or false for other reasons.
func Problem(reason string) (Reason, bool) {
	row := reasons[reason]
	return row, row.Problem != ""
}
