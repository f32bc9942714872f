// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"slices"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// step is one event with the states before and after it.
type step struct {
	agent         ledger.Agent
	before, after agent.State
	at            agent.Time
}

// endedCalls returns the tool calls that were answered in this step. Each call gets exactly one answer, so each is
// returned once.
func (s step) endedCalls() []agent.BatchCall {
	var calls []agent.BatchCall
	for _, c := range s.after.Batch {
		if c.State == agent.CallDone && !answered(s.before.Batch, c.ID) {
			calls = append(calls, c)
		}
	}
	return append(calls, s.flushedCalls()...)
}

// flushedCalls returns the calls whose answers were appended to the history in this step.
func (s step) flushedCalls() []agent.BatchCall {
	if s.after.History == s.before.History || s.before.Phase == agent.PhaseNew { // an initial history comes from another agent
		return nil
	}
	var calls []agent.BatchCall
	for _, answer := range newMessages(s.before.History, s.after.History) {
		if answer.Speaker != agent.ToolSpeaker || answered(s.before.Batch, answer.Call) {
			continue
		}
		call := s.findCall(answer.Call)
		call.State, call.Outcome, call.Answer = agent.CallDone, answer.Outcome, answer.Text
		calls = append(calls, call)
	}
	return calls
}

// findCall returns a call as it was before its answer: in the batch, or in the reply of this step.
func (s step) findCall(id string) agent.BatchCall {
	if i := slices.IndexFunc(s.before.Batch, func(c agent.BatchCall) bool { return c.ID == id }); i >= 0 {
		return s.before.Batch[i]
	}
	call := agent.BatchCall{ToolCall: agent.ToolCall{ID: id}, At: s.at}
	if s.before.ModelCall != nil {
		call.ModelCall = s.before.ModelCall.ID
	}
	for _, m := range newMessages(s.before.History, s.after.History) {
		for _, c := range m.Calls {
			if c.ID == id {
				call.ToolCall = c
			}
		}
	}
	return call
}

func (s step) decidedCalls() []agent.BatchCall {
	var calls []agent.BatchCall
	for i, c := range s.before.Batch {
		if c.State != agent.CallUndecided {
			continue
		}
		waits := i < len(s.after.Batch) && s.after.Batch[i].ID == c.ID && s.after.Batch[i].State == agent.CallUndecided
		if !waits {
			calls = append(calls, c)
		}
	}
	return calls
}

func answered(batch []agent.BatchCall, id string) bool {
	return slices.ContainsFunc(batch, func(c agent.BatchCall) bool { return c.ID == id && c.State == agent.CallDone })
}

// newMessages returns the messages that were appended to a history, oldest first; none if it was compacted.
func newMessages(before, after agent.History) []agent.Message {
	more := after.Len() - before.Len()
	if more <= 0 {
		return nil
	}
	return after.Newest(more)
}
