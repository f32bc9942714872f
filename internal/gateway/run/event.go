// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/view"
)

type Kind string

// The kinds of events.
const (
	// Text is the next piece of the answer: of a chat, what its orchestrator writes; of a task, its result.
	Text Kind = "Text"
	// Replace means that the text since the last recorded entry is void: the reply broke off and was requested again.
	Replace Kind = "Replace"
	// Entry is a recorded entry of the run's history.
	Entry Kind = "Entry"
	// Waiting means that the run waits for a person.
	Waiting Kind = "Waiting"
	// Working means that the run no longer waits.
	Working Kind = "Working"
	// Blocked means that the run cannot start: its condition says what is missing.
	Blocked Kind = "Blocked"
	// End is the last event.
	End Kind = "End"
)

type Event struct {
	Kind   Kind
	Cursor Cursor
	// Text is a piece of the answer. Begin reports that it begins a reply.
	Text  string
	Begin bool
	Entry *historyv1.Entry
	// Ask is the question or approval that the run waits for.
	Ask *Ask
	// Task is the task after the event; it is set on Waiting, Working and End of a task's run.
	Task *v1beta1.AgentTask
	// Progress is how the handling of a chat's message ended, on End, and Chat the chat.
	Progress view.Progress
	Chat     *v1beta1.AgentChat
	// Answer is the whole answer, on End of a task's run. Outcome is the recorded outcome, or nil if the caller may not
	// read the history.
	Answer  string
	Outcome *historyv1.Outcome
}

// DataOf returns the structured result of a task: from the recorded outcome, which is complete, or else from the
// status. omitted reports that the result is too large for the status.
func DataOf(task *v1beta1.AgentTask, recorded *historyv1.Outcome) (data json.RawMessage, omitted bool) {
	if recorded != nil {
		return rawOf(recorded.Data), false
	}
	if result := task.Status.Result; result != nil {
		return rawOf(result.Data), result.DataOmitted
	}
	return nil, false
}

func rawOf(value *runtime.RawExtension) json.RawMessage {
	if value == nil {
		return nil
	}
	return value.Raw
}
