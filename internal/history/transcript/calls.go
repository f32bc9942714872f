// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	api "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// toolCalls returns the tool calls of a step: new ones, and earlier ones whose state changed.
func (s Step) toolCalls() []api.ToolCall {
	var calls []api.ToolCall
	now := s.standing()
	for _, c := range s.asked() {
		calls = append(calls, now.of(c))
	}
	for _, c := range s.waited() {
		if call := now.of(c); call.Phase != api.ToolCallRunning {
			call.Arguments = ""
			calls = append(calls, call)
		}
	}
	for _, c := range s.Before.Batch {
		call := now.of(c.CallRequest)
		if call.Phase == phase(c.State, c.Outcome) {
			continue
		}
		call.Arguments = ""
		calls = append(calls, call)
	}
	return calls
}

// waited returns the calls that waited for a summary of the conversation before the step.
func (s Step) waited() []agent.CallRequest {
	if s.Before.Planned == nil || s.After.Planned != nil {
		return nil
	}
	return s.Before.Planned.Calls
}

// asked returns the calls that the step added: those of a reply, or the single call of a tool run.
func (s Step) asked() []agent.CallRequest {
	var calls []agent.CallRequest
	switch s.Event.Fact.(type) {
	case agent.Started:
		for _, c := range s.After.Batch {
			calls = append(calls, c.CallRequest)
		}
	case agent.ModelReplied:
		for _, m := range s.heard() {
			calls = append(calls, m.Calls...)
		}
	}
	return calls
}

// heard returns the messages that the step added to the history. A compaction shortens the history and adds none.
func (s Step) heard() []agent.Message {
	return s.After.History.Newest(max(0, s.After.History.Len()-s.Before.History.Len()))
}

// standings are the states of calls after a step, by ID.
type standings map[string]api.ToolCall

func (s Step) standing() standings {
	calls := standings{}
	for _, m := range s.heard() {
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
	if s.Before.Opening && !s.After.Opening { // the context files are part of the first message now
		for _, c := range s.Before.Batch {
			calls[c.ID] = api.ToolCall{Phase: phase(c.State, c.Outcome), Result: c.Answer}
		}
		if f, ok := s.Event.Fact.(agent.ToolFinished); ok {
			calls[f.Call] = api.ToolCall{Phase: phase(agent.CallDone, f.Outcome), Result: f.Text}
		}
	}
	return calls
}

// of returns a call with its state. A call without one was abandoned.
func (s standings) of(c agent.CallRequest) api.ToolCall {
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
		return api.ToolCallAwaitingApproval
	case agent.CallAsked:
		return api.ToolCallWaitingForUser
	case agent.CallHeld, agent.CallQueued, agent.CallRunning:
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

// children returns the runs that the step started.
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
