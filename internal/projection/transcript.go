// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"cmp"
	"slices"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

var speakers = map[agent.Speaker]v1beta1.TranscriptRole{
	agent.User: v1beta1.TranscriptUser, agent.Assistant: v1beta1.TranscriptAssistant, agent.ToolSpeaker: v1beta1.TranscriptTool,
}

// messages returns the newest messages of the history.
func messages(s agent.State) []v1beta1.TranscriptMessage {
	newest := s.History.Newest(maxMessages)
	shown := make([]v1beta1.TranscriptMessage, len(newest))
	for i, m := range newest {
		shown[i] = v1beta1.TranscriptMessage{
			Seq: int64(s.History.Len() - len(newest) + i), Role: speakers[m.Speaker], Content: shorten.Head(m.Text, maxContent),
			ToolCall: m.Call, Time: moment(m.At),
		}
	}
	return shown
}

// searched is the number of messages of the history that are searched for tool calls.
const searched = 4 * maxToolCalls

// toolCalls returns the newest tool calls: those in flight, and before them those in the history.
func toolCalls(s agent.State, w Work) []v1beta1.ToolCallStatus {
	var calls []v1beta1.ToolCallStatus
	for _, c := range slices.Backward(s.Batch) {
		status := callStatus(c)
		status.Progress, status.Editable = w.progress(c), c.State == agent.CallUndecided && s.IsEditable(c)
		calls = append(calls, status)
	}
	open := make(map[string]bool, len(s.Batch))
	for _, c := range s.Batch {
		open[c.ID] = true
	}
	answers := map[string]agent.Message{}
	looked := 0
	for m := range s.History.Backward() {
		if looked++; looked > searched || len(calls) >= maxToolCalls {
			break
		}
		if m.Speaker == agent.ToolSpeaker {
			answers[m.Call] = m
		}
		for _, request := range slices.Backward(m.Calls) {
			if !open[request.ID] {
				answer := answers[request.ID] // a lost history may have none
				calls = append(calls, callStatus(agent.BatchCall{
					ToolCall: request, State: agent.CallDone, Outcome: cmp.Or(answer.Outcome, agent.ToolUnknown), Answer: answer.Text, At: m.At,
				}))
			}
		}
	}
	calls = calls[:min(len(calls), maxToolCalls)]
	slices.Reverse(calls)
	return calls
}

func callStatus(c agent.BatchCall) v1beta1.ToolCallStatus {
	status := v1beta1.ToolCallStatus{
		ID: c.ID, Tool: shorten.Head(c.Tool, maxToolName), Phase: callPhase(c), Time: moment(c.At),
	}
	status.Arguments, status.ArgumentsOmitted = callArguments(c.Arguments)
	if c.State == agent.CallUndecided {
		status.ID, status.PolicyReasons = c.ApprovalID(), reasons(c.Verdict)
		status.ArgumentsDigest, status.ExpireTime = agent.CallDigest(c.Tool, c.Arguments), moment(c.ExpireTime)
	}
	if c.State != agent.CallDone {
		return status
	}
	if c.Outcome == agent.ToolSucceeded {
		status.Result = shorten.Head(c.Answer, maxToolResult)
		return status
	}
	status.Error = shorten.Head(c.Answer, maxToolError)
	return status
}

func callPhase(c agent.BatchCall) v1beta1.ToolCallPhase {
	switch c.State {
	case agent.CallUndecided:
		return v1beta1.ToolCallWaitingForApproval
	case agent.CallHeld, agent.CallQueued:
		return v1beta1.ToolCallPending
	case agent.CallDone:
		return map[agent.ToolOutcome]v1beta1.ToolCallPhase{
			agent.ToolSucceeded: v1beta1.ToolCallSuccess, agent.ToolFailed: v1beta1.ToolCallFailed,
			agent.ToolDenied: v1beta1.ToolCallDenied, agent.ToolUnknown: v1beta1.ToolCallUnknown,
		}[c.Outcome]
	}
	return v1beta1.ToolCallRunning
}
