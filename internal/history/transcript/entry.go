// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Step is one event of an agent with the states before and after it.
type Step struct {
	UID    string
	Record ledger.Event
	Event  agent.Event
	Before agent.State
	After  agent.State
	// Damage is why the event cannot be decoded, if so. The state is then unchanged.
	Damage error
}

// Entry returns the entry of a step. It reports false for events without interest to people: timers, deliveries, and
// notes between agents that other entries cover.
func (s Step) Entry() (api.Entry, bool) {
	e := api.Entry{
		Seq: s.Record.Seq, Time: metav1.NewMicroTime(s.Record.At), ToolCalls: s.toolCalls(), Children: s.children(),
		Limit: s.limit(), Outcome: s.outcome(),
	}
	ok := s.fill(&e)
	if !ok && (e.Limit != "" || e.Outcome != nil) {
		e.Kind, e.Content, e.Limit = api.EntryLimit, e.Limit, ""
		ok = true
	}
	if f, finished := s.Event.Fact.(agent.ToolFinished); finished {
		for i := range e.ToolCalls {
			if e.ToolCalls[i].ID == f.Call {
				e.ToolCalls[i].Diff = f.Diff
			}
		}
	}
	// The content already has the result.
	for i := range e.ToolCalls {
		if e.ToolCalls[i].Result == e.Content {
			e.ToolCalls[i].Result = ""
		}
	}
	return e, ok
}

// fill fills in the fields that depend on the fact.
func (s Step) fill(e *api.Entry) bool {
	if s.Damage != nil {
		e.Kind, e.Error = api.EntryError, string(agent.ErrorHistoryLost)
		e.Content = fmt.Sprintf("Event %d (%s) cannot be read: %s", s.Record.Seq, s.Record.Type, s.Damage)
		return true
	}
	switch f := s.Event.Fact.(type) {
	case agent.Started:
		e.Kind, e.Content, e.SystemPrompt = api.EntryStarted, s.assignment(), agent.SystemPrompt(f.Config)
	case agent.Forked:
		e.Kind, e.Content, e.SystemPrompt = api.EntryStarted, f.Instruction, agent.SystemPrompt(s.After.Config)
	case agent.MessageArrived:
		e.Kind, e.Content, e.Message, e.Child, e.Images = api.EntryUser, f.Text, f.Message, f.Answers, images(f.Images)
	case agent.ModelReplied:
		s.fillReply(e, f)
	case agent.ModelFailed:
		e.Kind, e.Content, e.Error = api.EntryError, f.Message, string(f.Failure)
		e.ModelCall = api.ModelCallName(s.UID, f.Call, f.Attempt)
		if f.Usage != nil {
			e.Usage = usage(*f.Usage)
		}
	case agent.ToolFinished:
		e.Kind, e.Content, e.Images = api.EntryToolResult, f.Text, images(f.Images)
	case agent.Decided:
		e.Kind, e.Content, e.User, e.Decision = api.EntryDecision, f.Comment, f.User, "Deny"
		e.Allowance = f.Allowance
		if f.Approve {
			e.Decision = "Approve"
		}
		s.fillEdit(e, f)
	case agent.Allowed:
		e.Kind, e.User, e.Allowance, e.Message, e.Content = api.EntryAllowance, f.User, f.Message, f.Message, f.Text()
	case agent.AllowanceRevoked:
		e.Kind, e.User, e.Allowance, e.Message, e.Content = api.EntryAllowance, f.User, f.Allowance, f.Message, f.Text()
	case agent.ToolAsked:
		e.Kind, e.Content = api.EntryQuestion, f.Question
	case agent.Answered:
		e.Kind, e.Content, e.Images = api.EntryAnswer, f.Text, images(f.Images)
	case agent.ChildFinished:
		s.fillChild(e, f)
	case agent.Asked:
		s.fillAsk(e, f)
	case agent.Cancelled:
		e.Kind, e.Message, e.User, e.Content = api.EntryCancelled, f.Message, f.User, f.Reply
	case agent.Restarted:
		e.Kind = api.EntryRestarted
	case agent.Quarantined:
		e.Kind, e.Error = api.EntryError, string(agent.ErrorHistoryLost)
		e.Content = f.Text()
	default:
		return s.fillEnded(e)
	}
	return true
}

// fillEnded fills in the results of calls that end without a fact of their own: a policy denies them, or no one decides in time.
func (s Step) fillEnded(e *api.Entry) bool {
	if e.Limit != "" || e.Outcome != nil {
		return false // the entry of the limit or outcome has the calls
	}
	e.ToolCalls = slices.DeleteFunc(e.ToolCalls, func(c api.ToolCall) bool {
		switch c.Phase {
		case api.ToolCallRunning, api.ToolCallWaitingForApproval, api.ToolCallWaitingForUser, api.ToolCallDelegated:
			return true
		}
		return false
	})
	if len(e.ToolCalls) == 0 {
		return false
	}
	e.Kind = api.EntryToolResult
	if len(e.ToolCalls) == 1 {
		e.Content = e.ToolCalls[0].Result
	}
	return true
}

// assignment returns the instruction of a sub-agent: the newest message when it starts.
func (s Step) assignment() string {
	for m := range s.After.History.Backward() {
		if m.Speaker == agent.User && s.After.Config.Kind == agent.SubAgent {
			return m.Text
		}
	}
	return ""
}

func (s Step) fillReply(e *api.Entry, f agent.ModelReplied) {
	e.Kind, e.Content, e.Reasoning, e.Truncated = api.EntryAssistant, f.Text, f.Reasoning, f.Finish == agent.FinishLength
	attempt := 1
	if r := s.Before.ModelCall; r != nil {
		attempt = r.Attempt
		if r.Purpose == agent.PurposeCompact {
			e.Kind = api.EntrySummary
		}
	}
	if f.Recorded { // the fork called no model
		return
	}
	e.ModelCall = api.ModelCallName(s.UID, f.Call, attempt)
	e.Usage = usage(f.Usage)
}

func (s Step) fillChild(e *api.Entry, f agent.ChildFinished) {
	e.Kind, e.Child, e.Error = api.EntryChildResult, f.Child, string(f.Outcome.Kind)
	e.Content = f.Outcome.Result.Brief()
	if !f.Outcome.Succeeded() {
		e.Content = f.Outcome.Error
	}
	if f.Usage != (budget.Usage{}) {
		e.Usage = usage(f.Usage)
	}
}

func (s Step) fillAsk(e *api.Entry, f agent.Asked) {
	e.Kind, e.Child, e.Content = api.EntryQuestion, f.Agent, f.Text
	call := api.ToolCall{ID: f.Call, Tool: f.Tool, Arguments: f.Arguments, Phase: api.ToolCallWaitingForUser}
	if f.Kind == agent.AskApproval {
		e.Kind, call.Phase = api.EntryApproval, api.ToolCallWaitingForApproval
	}
	e.ToolCalls = append(e.ToolCalls, call)
}

// fillEdit adds the arguments that a person wrote instead of those of the model.
func (s Step) fillEdit(e *api.Entry, f agent.Decided) {
	for _, m := range s.decided(api.CallMoment{}, f) {
		for i := range e.ToolCalls {
			if m.ToolCall == e.ToolCalls[i].ID {
				e.ToolCalls[i].Arguments = m.Arguments
			}
		}
	}
}

func (s Step) limit() string {
	if s.After.LimitReached == nil || s.After.LimitReached == s.Before.LimitReached {
		return ""
	}
	return s.After.LimitReached.Reason
}

func (s Step) outcome() *api.Outcome {
	o := s.After.Outcome
	if o == nil || !s.After.Phase.Terminal() || s.Before.Phase.Terminal() {
		return nil
	}
	ok := &api.Outcome{
		ErrorKind: string(o.Kind), Error: o.Error, Iterations: int32(o.Iterations), DurationMillis: int64(o.Duration),
	}
	if r := o.Result; r != nil {
		ok.Summary, ok.Result, ok.Details = r.Summary, r.Text, r.Details
		ok.FilesModified, ok.FilesCreated, ok.Warnings, ok.Suggestions = r.FilesModified, r.FilesCreated, r.Warnings, r.Suggestions
		ok.TestsRun, ok.TestsPassed = number(r.TestsRun), number(r.TestsPassed)
		if len(r.Data) > 0 {
			ok.Data = &runtime.RawExtension{Raw: r.Data}
		}
	}
	return ok
}

func images(list []agent.Image) []api.Image {
	var shown []api.Image
	for _, i := range list {
		shown = append(shown, api.Image{Name: i.Name, MediaType: i.MediaType, Size: i.Size, Digest: i.Digest})
	}
	return shown
}

func number(n *int) *int32 {
	if n == nil {
		return nil
	}
	small := int32(min(max(*n, 0), 1<<31-1))
	return &small
}

func usage(u budget.Usage) *api.TokenUsage {
	tokens := &api.TokenUsage{PromptTokens: &u.PromptTokens, CompletionTokens: &u.CompletionTokens, CostMicros: u.CostMicros, Currency: u.Currency}
	if u.ReasoningTokens > 0 {
		tokens.ReasoningTokens = &u.ReasoningTokens
	}
	return tokens
}
