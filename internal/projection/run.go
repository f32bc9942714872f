// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// Show shows the state of a run. Conditions that are not Nestor's stay.
func (r Run) Show(s agent.State, w Work) {
	all := withCondition(*r.Conditions, r.kind(), succeeded(s, w, r.GetGeneration()), s.Clock.Now)
	all = withProgress(all, r.kind(), s, w, r.GetGeneration())
	maxData := maxSubAgentData
	if r.Task != nil {
		r.Task.Status, maxData = taskStatus(s, w), maxTaskData
		if r.Task.Spec.Chat == "" && s.Config.Kind == agent.SubAgent && s.Config.Depth == 1 { // it is the root
			r.Task.Status.PinnedRevisions = pinnedRevisions(s.Config)
		}
	} else {
		r.SubAgent.Status = subAgentStatus(s, w)
	}
	*r.Iterations, *r.Usage, *r.StartTime, *r.Conditions = int32(s.Iterations), usage(s.Usage), moment(s.Clock.Started), all
	r.setPhase(w.standing(s))
	if !s.Phase.Terminal() {
		return
	}
	*r.Result, *r.Error, *r.CompletionTime = result(s.Outcome.Result, maxData), runError(*s.Outcome), moment(s.Clock.Now)
}

// subAgentStatus returns what only sub-agents show.
func subAgentStatus(s agent.State, w Work) v1beta1.SubAgentStatus {
	status := v1beta1.SubAgentStatus{
		Messages:  messages(s),
		ToolCalls: toolCalls(s, w),
		Children:  v1beta1.ChildCounts{Pending: int32(s.Children.Pending()), Finished: int32(s.Children.Finished)},
		Summary:   shorten.Head(s.Summary, maxSummary),
		Question:  shorten.Head(question(s), maxQuestion),

		ContentLabels: contentLabels(s), RoleRevision: s.Config.Role.Revision,
	}
	if s.LimitReached != nil {
		status.BailoutReason = shorten.Head(s.LimitReached.Reason, maxBailout)
	}
	return status
}

// taskStatus returns what only tasks show.
func taskStatus(s agent.State, w Work) v1beta1.AgentTaskStatus {
	status := v1beta1.AgentTaskStatus{Waiting: waiting(s), ContentLabels: contentLabels(s), RoleRevision: s.Config.Role.Revision}
	switch s.Config.Kind {
	case agent.SubAgent:
		status.SubAgent = s.Config.Name
	case agent.ToolRun:
		for _, c := range s.Batch {
			status.Progress = w.progress(c)
		}
	}
	if fork := s.Config.Fork; fork != nil {
		status.ForkSequence = &fork.Sequence
	}
	if s.Phase.Terminal() {
		status.DurationSeconds = new((int64(s.Outcome.Duration) + 999) / 1000)
	}
	return status
}

// waiting returns the first ask of a run, or nil.
func waiting(s agent.State) *v1beta1.Waiting {
	switch s.Stage() {
	case agent.StageWaitingForApproval:
		return approval(s)
	case agent.StageWaitingForUser:
		for _, ask := range agent.PendingAsks(s) {
			if ask.Kind == agent.AskQuestion {
				w := &v1beta1.Waiting{Kind: v1beta1.WaitingQuestion, SubAgent: s.Config.Name, Text: shorten.Head(ask.Text, maxWaitingText), ToolCall: ask.Call, StartTime: moment(s.AskedAt(ask.Call))}
				if s.Config.Kind == agent.ToolRun {
					w.ToolCall, w.SubAgent = "", ""
				}
				return w
			}
		}
	}
	return nil
}

func approval(s agent.State) *v1beta1.Waiting {
	for _, ask := range agent.PendingAsks(s) {
		if ask.Kind != agent.AskApproval {
			continue
		}
		w := &v1beta1.Waiting{SubAgent: s.Config.Name, ToolCall: ask.Call, DenyRequesters: ask.DenyRequesters, Editable: ask.Editable,
			StartTime: moment(s.AskedAt(ask.Call)), ExpireTime: moment(ask.ExpireTime)}
		setCall(w, ask.Tool, ask.Arguments)
		w.PolicyReasons = reasons(ask.Policy)
		if s.Config.Kind == agent.ToolRun {
			w.SubAgent = ""
			if w.ToolCall == s.Config.Name { // a task of type Tool is one call, which policies may ask about again
				w.ToolCall = ""
			}
		}
		return w
	}
	return &v1beta1.Waiting{Kind: v1beta1.WaitingApproval}
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

func usage(u budget.Usage) v1beta1.Usage {
	return v1beta1.Usage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.Total(),
		ModelCalls: u.ModelCalls, CostMicros: u.CostMicros, Currency: u.Currency}
}

func runError(o agent.Outcome) *v1beta1.RunError {
	if o.Succeeded() {
		return nil
	}
	return &v1beta1.RunError{Kind: v1beta1.ErrorKind(o.Kind), Message: shorten.Head(o.Error, maxErrorMessage)}
}

// result shortens a result to the bounds of the API. A plain final answer is its own summary; a result with a summary
// keeps its full text in the details. maxData is the size of the largest data.
func result(r *agent.Result, maxData int) *v1beta1.TaskResult {
	if r == nil {
		return nil
	}
	details := r.Details
	if details == "" && r.Summary != "" && r.Text != r.Summary {
		details = r.Text
	}
	data, omitted := resultData(r.Data, maxData)
	return &v1beta1.TaskResult{
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

// resultData returns the data of a result for a status, and whether it was left out because it is too large: a part of
// it would not match its schema.
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
	return new(int32(*n))
}
