// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// SubAgent returns the status of a sub-agent. It keeps conditions of the old status that are not Nestor's.
func SubAgent(s agent.State, w Work, old v1alpha1.SubAgentStatus, generation int64) v1alpha1.SubAgentStatus {
	status := v1alpha1.SubAgentStatus{
		Phase:      v1alpha1.SubAgentPhase(w.standing(s)),
		Messages:   messages(s),
		ToolCalls:  toolCalls(s, w),
		Children:   v1alpha1.ChildCounts{Pending: int32(s.Children.Pending()), Completed: int32(s.Children.Completed)},
		Summary:    shorten.Head(s.Summary, maxSummary),
		Question:   shorten.Head(question(s), maxQuestion),
		Iterations: int32(s.Iterations),
		Usage:      usage(s.Usage),
		StartTime:  moment(s.Clock.Started),
		Conditions: withProgress(withCondition(old.Conditions, succeeded(s, w, generation), s.Clock.Now), s, w, generation),
	}
	if s.LimitReached != nil {
		status.BailoutReason = shorten.Head(s.LimitReached.Reason, maxBailout)
	}
	if s.Phase.Terminal() {
		status.Result, status.Error = result(s.Outcome.Result, maxSubAgentData), runError(*s.Outcome)
		status.CompletionTime = moment(s.Clock.Now)
	}
	return status
}

// Task returns the status of a task from the state of its agent or tool run.
func Task(s agent.State, w Work, old v1alpha1.AgentTaskStatus, generation int64) v1alpha1.AgentTaskStatus {
	status := v1alpha1.AgentTaskStatus{
		Phase:      taskPhase(s, w),
		Waiting:    waiting(s),
		Iterations: int32(s.Iterations),
		Usage:      usage(s.Usage),
		StartTime:  moment(s.Clock.Started),
		Conditions: withProgress(withCondition(old.Conditions, succeeded(s, w, generation), s.Clock.Now), s, w, generation),
	}
	switch s.Config.Kind {
	case agent.SubAgent:
		status.SubAgent = s.Config.Name
	case agent.ToolRun:
		for _, c := range s.Batch {
			status.Progress = w.progress(c)
		}
	}
	if s.Phase.Terminal() {
		status.Result, status.Error = result(s.Outcome.Result, maxTaskData), runError(*s.Outcome)
		status.CompletionTime = moment(s.Clock.Now)
		duration := int64(s.Outcome.Duration)
		status.DurationMillis = &duration
	}
	return status
}

func taskPhase(s agent.State, w Work) v1alpha1.TaskPhase {
	switch w.standing(s) {
	case agent.StagePending:
		return v1alpha1.TaskPending
	case agent.StageWaitingForUser, agent.StageAwaitingApproval:
		return v1alpha1.TaskWaiting
	case agent.StageCompleted:
		return v1alpha1.TaskSuccess
	case agent.StageFailed:
		if s.Outcome.Kind == agent.ErrorCancelled {
			return v1alpha1.TaskCancelled
		}
		return v1alpha1.TaskFailed
	}
	return v1alpha1.TaskRunning
}

// waiting returns the first ask of a run, or nil.
func waiting(s agent.State) *v1alpha1.Waiting {
	switch s.Stage() {
	case agent.StageAwaitingApproval:
		return approval(s)
	case agent.StageWaitingForUser:
		for _, ask := range agent.PendingAsks(s) {
			if ask.Kind == agent.AskQuestion {
				w := &v1alpha1.Waiting{Kind: v1alpha1.WaitingQuestion, SubAgent: s.Config.Name, Text: shorten.Head(ask.Text, maxWaitingText), ToolCall: ask.Call, Since: moment(s.AskedAt(ask.Call))}
				if s.Config.Kind == agent.ToolRun {
					w.ToolCall, w.SubAgent = "", ""
				}
				return w
			}
		}
	}
	return nil
}

func approval(s agent.State) *v1alpha1.Waiting {
	for _, c := range s.Batch {
		if c.State != agent.CallUndecided {
			continue
		}
		w := &v1alpha1.Waiting{Kind: v1alpha1.WaitingApproval, SubAgent: s.Config.Name, Text: callText(c.Tool, c.Arguments), ToolCall: c.ID,
			ArgumentsDigest: agent.CallDigest(c.Tool, c.Arguments), Separation: s.Config.Role.Separation, Since: moment(c.At)}
		if s.Config.Kind == agent.ToolRun {
			w.ToolCall, w.SubAgent = "", "" // a task of type Tool is one call
		}
		return w
	}
	return &v1alpha1.Waiting{Kind: v1alpha1.WaitingApproval}
}

// question returns the text of the question that an agent waits for.
func question(s agent.State) string {
	for _, e := range agent.Outstanding(s) {
		if ask, ok := e.(agent.AskPerson); ok && ask.Kind == agent.AskQuestion {
			return ask.Text
		}
	}
	return ""
}

func usage(u agent.Usage) v1alpha1.Usage {
	return v1alpha1.Usage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.Total(),
		ModelCalls: u.ModelCalls, CostMicros: u.CostMicros}
}

func runError(o agent.Outcome) *v1alpha1.RunError {
	if o.Succeeded() {
		return nil
	}
	return &v1alpha1.RunError{Kind: v1alpha1.ErrorKind(o.Kind), Message: shorten.Head(o.Error, maxErrorMessage)}
}

// result shortens a result to the bounds of the API. A plain final answer is its own summary; a result with a summary keeps its full text
// in the details. maxData is the size of the largest data.
func result(r *agent.Result, maxData int) *v1alpha1.TaskResult {
	if r == nil {
		return nil
	}
	details := r.Details
	if details == "" && r.Summary != "" && r.Text != r.Summary {
		details = r.Text
	}
	data, omitted := resultData(r.Data, maxData)
	return &v1alpha1.TaskResult{
		Summary:       shorten.Head(r.Brief(), maxResultSummary),
		Details:       shorten.Head(details, maxResultDetails),
		FilesModified: shortenAll(r.FilesModified, maxFiles),
		FilesCreated:  shortenAll(r.FilesCreated, maxFiles),
		TestsRun:      count(r.TestsRun),
		TestsPassed:   count(r.TestsPassed),
		Warnings:      shortenAll(r.Warnings, maxRemarks),
		Suggestions:   shortenAll(r.Suggestions, maxRemarks),
		Data:          data,
		DataOmitted:   omitted,
	}
}

// resultData returns the data of a result for a status, and whether it was left out because it is too large: a part of it would not
// match its schema.
func resultData(data json.RawMessage, most int) (*runtime.RawExtension, bool) {
	switch {
	case len(data) == 0:
		return nil, false
	case len(data) > most:
		return nil, true
	}
	return &runtime.RawExtension{Raw: data}, false
}

// count returns a count that a model reported, if it is a valid count.
func count(n *int) *int32 {
	if n == nil || *n < 0 || *n > 1<<31-1 {
		return nil
	}
	c := int32(*n)
	return &c
}
