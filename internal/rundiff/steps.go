// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rundiff

import (
	"cmp"
	"strings"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
)

// Run is a recorded run.
type Run struct {
	Transcript historyv1.Transcript
	Entries    []historyv1.Entry
	Segments   []historyv1.Segment
}

// StepKind is the kind of a step.
type StepKind string

// The kinds of steps.
const (
	// StepInput: the instruction of the agent, or a message to it.
	StepInput StepKind = "Input"
	// StepModelCall: a model replied; the tool calls of the reply are steps of their own.
	StepModelCall StepKind = "ModelCall"
	// StepSummary: a model summarised the older part of the history.
	StepSummary StepKind = "Summary"
	// StepToolCall: a tool call with its outcome.
	StepToolCall StepKind = "ToolCall"
	// StepError: a model call failed and was not repeated.
	StepError StepKind = "Error"
	// StepLimit: the agent reached a limit.
	StepLimit StepKind = "Limit"
	// StepCancelled: a person, a parent or a deletion stopped work.
	StepCancelled StepKind = "Cancelled"
	// StepEnd: the agent ended.
	StepEnd StepKind = "End"
)

// Step is a step of a run.
type Step struct {
	// Seq is the entry of the transcript with which the step began.
	Seq  int64    `json:"seq"`
	Kind StepKind `json:"kind"`
	// Text is what was said: the input, the reply, the summary, the error or the result of the run.
	Text string `json:"text,omitempty"`
	// Tool and Arguments are the tool call as the model requested it.
	Tool      string `json:"tool,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Decision is what a person decided about the call, with their comment and the arguments that they changed.
	Decision string `json:"decision,omitempty"`
	// Phase and Result are the outcome of the call. The results of the runs that it started follow its own.
	Phase  historyv1.ToolCallPhase `json:"phase,omitempty"`
	Result string                  `json:"result,omitempty"`
	// Children are the runs that the call started.
	Children []string `json:"children,omitempty"`
	// Usage is that of the model call with its failed attempts, or of the children with everything below them.
	Usage *Usage `json:"usage,omitempty"`
	// DurationMillis is how long the model worked, or the tool or the children. It does not include time spent waiting for a person.
	DurationMillis int64 `json:"durationMillis"`

	segments segmentKey
	reported map[string]string // the results of children, if they are not part of the result of the call
}

// reader turns entries into steps.
type reader struct {
	steps []Step
	// calls has the index of the step of the newest tool call with an ID, children that of the call that started a run.
	calls, children map[string]int
	failed          *Usage // of the attempts since the last reply
}

func steps(run Run) []Step {
	r := reader{calls: map[string]int{}, children: map[string]int{}}
	for _, e := range run.Entries {
		r.read(e)
	}
	durations := durationsOf(run.Segments)
	for i := range r.steps {
		step := &r.steps[i]
		step.DurationMillis = durations[step.segments].Milliseconds()
		step.addReports()
	}
	return r.steps
}

func (r *reader) read(e historyv1.Entry) {
	switch e.Kind {
	case historyv1.EntryStarted:
		if e.Content != "" {
			r.add(e, StepInput, e.Content)
		}
	case historyv1.EntryUser:
		r.add(e, StepInput, e.Content+imageText(e.Images))
	case historyv1.EntryAssistant:
		r.reply(e, StepModelCall)
	case historyv1.EntrySummary:
		r.reply(e, StepSummary)
	case historyv1.EntryError:
		r.fail(e)
	case historyv1.EntryCancelled:
		r.add(e, StepCancelled, e.Content)
	case historyv1.EntryChildResult:
		r.endChild(e)
	}
	r.readCalls(e)
	r.startChildren(e)
	if e.Limit != "" || e.Kind == historyv1.EntryLimit && e.Outcome == nil {
		r.add(e, StepLimit, cmp.Or(e.Limit, e.Content))
	}
	if e.Outcome != nil {
		r.add(e, StepEnd, outcomeText(*e.Outcome))
	}
}

func (r *reader) add(e historyv1.Entry, kind StepKind, text string) *Step {
	r.steps = append(r.steps, Step{Seq: e.Seq, Kind: kind, Text: text})
	return &r.steps[len(r.steps)-1]
}

func (r *reader) reply(e historyv1.Entry, kind StepKind) {
	step := r.add(e, kind, e.Content)
	if e.Truncated {
		step.Text += "\n(truncated)"
	}
	step.Usage, step.segments = r.failed.plus(usageOf(e.Usage)), segmentKey{model: withoutAttempt(e.ModelCall)}
	r.failed = nil
}

// fail adds the usage of an attempt that will be repeated to the reply. Whether a provider was overloaded is no difference.
func (r *reader) fail(e historyv1.Entry) {
	r.failed = r.failed.plus(usageOf(e.Usage))
	if e.Error == "Retry" && e.Outcome == nil {
		return
	}
	r.add(e, StepError, strings.TrimSpace(e.Error+": "+e.Content)).Usage = r.failed
	r.failed = nil
}

func (r *reader) readCalls(e historyv1.Entry) {
	for _, call := range e.ToolCalls {
		if e.Child != "" && e.Kind != historyv1.EntryChildResult {
			continue // the call of an agent below
		}
		i, found := r.calls[call.ID]
		if !found || e.Kind == historyv1.EntryAssistant { // a reply makes new calls, whose IDs earlier ones may have
			if call.Tool == "" || call.ID == "" {
				continue
			}
			r.add(e, StepToolCall, "")
			i = len(r.steps) - 1
			r.calls[call.ID] = i
			r.steps[i].Tool, r.steps[i].Arguments = call.Tool, call.Arguments
			r.steps[i].segments = segmentKey{withoutAttempt(e.ModelCall), call.ID}
		}
		r.steps[i].update(e, call)
	}
}

// update adds what an entry contains about the call.
func (s *Step) update(e historyv1.Entry, call historyv1.ToolCall) {
	s.Phase = call.Phase
	if e.Kind == historyv1.EntryDecision {
		s.Decision = strings.TrimSpace(e.Decision + " " + e.Content)
		if call.Arguments != "" && canonical(call.Arguments) != canonical(s.Arguments) {
			s.Decision += "\nchanged arguments: " + call.Arguments
		}
	}
	result := call.Result
	if result == "" && (e.Kind == historyv1.EntryToolResult || e.Kind == historyv1.EntryAnswer) && len(e.ToolCalls) == 1 {
		result = e.Content + imageText(e.Images)
	}
	if result == "" && e.Kind == historyv1.EntryChildResult {
		result = e.Content // the last child ended, and the call with it
	}
	if result != "" {
		s.Result = result
	}
}

func (r *reader) startChildren(e historyv1.Entry) {
	for _, child := range e.Children {
		i, found := r.calls[child.ToolCall]
		if !found {
			continue
		}
		r.children[child.Name] = i
		r.steps[i].Children = append(r.steps[i].Children, child.Name)
	}
}

// endChild adds what a child reported to the step of the call that started it. A call that waits for its children gets their results in its
// own; that of an orchestrator ended when they started.
func (r *reader) endChild(e historyv1.Entry) {
	i, found := r.children[e.Child]
	if !found {
		return
	}
	step := &r.steps[i]
	step.Usage = step.Usage.plus(usageOf(e.Usage))
	if step.Phase == historyv1.ToolCallDelegated {
		return
	}
	if step.reported == nil {
		step.reported = map[string]string{}
	}
	step.reported[e.Child] = strings.TrimSpace(e.Error + " " + e.Content)
}

// addReports adds the results of children in the order in which the children were started.
func (s *Step) addReports() {
	for _, child := range s.Children {
		if report, ended := s.reported[child]; ended {
			s.Result += "\n" + child + ": " + report
		}
	}
	s.Result = strings.TrimPrefix(s.Result, "\n")
}
