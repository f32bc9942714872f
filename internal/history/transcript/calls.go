// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// toolCalls returns the tool calls of a step: new ones, and earlier ones whose state changed.
func (s Step) toolCalls() []api.ToolCall {
	var calls []api.ToolCall
	now := s.callStates()
	for _, c := range s.addedCalls() {
		calls = append(calls, now.find(c))
	}
	for _, c := range s.waitingCalls() {
		if call := now.find(c); call.Phase != api.ToolCallRunning {
			call.Arguments = ""
			calls = append(calls, call)
		}
	}
	for _, c := range s.Before.Batch {
		call := now.find(c.ToolCall)
		if call.Phase == phase(c.State, c.Outcome) {
			continue
		}
		call.Arguments = ""
		calls = append(calls, call)
	}
	return calls
}

// waitingCalls returns the calls that waited for a summary of the conversation before the step.
func (s Step) waitingCalls() []agent.ToolCall {
	if s.Before.Planned == nil || s.After.Planned != nil {
		return nil
	}
	return s.Before.Planned.Calls
}

// addedCalls returns the calls that the step added: those of a reply, or the single call of a tool run.
func (s Step) addedCalls() []agent.ToolCall {
	var calls []agent.ToolCall
	switch s.Event.Fact.(type) {
	case agent.Started:
		for _, c := range s.After.Batch {
			calls = append(calls, c.ToolCall)
		}
	case agent.ModelReplied:
		for _, m := range s.addedMessages() {
			calls = append(calls, m.Calls...)
		}
	}
	return calls
}

// addedMessages returns the messages that the step added to the history. A compaction shortens the history and adds none.
func (s Step) addedMessages() []agent.Message {
	return s.After.History.Newest(max(0, s.After.History.Len()-s.Before.History.Len()))
}

// callStates are the states of calls after a step, by ID.
type callStates map[string]api.ToolCall

func (s Step) callStates() callStates {
	calls := callStates{}
	for _, m := range s.addedMessages() {
		if m.Speaker == agent.ToolSpeaker {
			calls[m.Call] = api.ToolCall{Phase: phase(agent.CallDone, m.Outcome), Result: m.Text}
		}
	}
	for _, c := range s.After.Batch {
		calls[c.ID] = api.ToolCall{Phase: phase(c.State, c.Outcome), Result: c.Answer}
	}
	if s.After.Planned != nil {
		for _, c := range s.After.Planned.Calls {
			calls[c.ID] = api.ToolCall{Phase: api.ToolCallRunning}
		}
	}
	if s.Before.ReadingContextFiles && !s.After.ReadingContextFiles { // the context files are part of the first message now
		for _, c := range s.Before.Batch {
			calls[c.ID] = api.ToolCall{Phase: phase(c.State, c.Outcome), Result: c.Answer}
		}
		if f, ok := s.Event.Fact.(agent.ToolFinished); ok {
			calls[f.Call] = api.ToolCall{Phase: phase(agent.CallDone, f.Outcome), Result: f.Text}
		}
	}
	return calls
}

// find returns a call with its state. A call without one was abandoned.
func (s callStates) find(c agent.ToolCall) api.ToolCall {
	call, ok := s[c.ID]
	if !ok {
		call.Phase = api.ToolCallFailed
	}
	call.ID, call.Tool, call.Arguments = c.ID, c.Tool, c.Arguments
	return call
}

func phase(state agent.CallState, outcome agent.ToolOutcome) api.ToolCallPhase {
	switch state {
	case agent.CallUndecided:
		return api.ToolCallWaitingForApproval
	case agent.CallAsked:
		return api.ToolCallWaitingForUser
	case agent.CallHeld, agent.CallQueued, agent.CallRunning, agent.CallSought:
		return api.ToolCallRunning
	case agent.CallDelegated:
		return api.ToolCallDelegated
	}
	switch outcome {
	case agent.ToolSucceeded:
		return api.ToolCallSuccess
	case agent.ToolDenied:
		return api.ToolCallDenied
	case agent.ToolUnknown:
		return api.ToolCallUnknown
	}
	return api.ToolCallFailed
}

func (s Step) children() []api.ChildRun {
	if s.After.Children.Started == s.Before.Children.Started {
		return nil
	}
	known := map[string]bool{}
	for _, c := range s.Before.Children.Live {
		known[c.Name] = true
	}
	var runs []api.ChildRun
	for _, c := range s.After.Children.Live {
		if !known[c.Name] {
			runs = append(runs, api.ChildRun{
				Name: c.Name, ToolCall: c.Group, Role: c.Role, Tool: c.Tool, Instruction: c.Task, ContinueFrom: c.ContinueFrom,
			})
		}
	}
	return runs
}
