// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/plainjson"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// Record contains what a run did after the point at which a fork begins: the replies of its model, and the results of
// its calls, however they came about. A result may be that of a tool, of children, an answer or a denial.
type Record struct {
	// replies are the facts that ended the model calls.
	replies map[string]recordedReply
	// results are in the order of the run; byCall contains their indices for each identical call.
	results []recordedResult
	byCall  map[string][]int
}

type recordedReply struct {
	purpose Purpose
	fact    Fact
}

type recordedResult struct {
	tool, arguments string
	RecalledCall
}

// Recalled is the fact that the results of calls were looked up in the record of a fork.
type Recalled struct {
	Calls []RecalledCall `json:"calls"`
}

func (Recalled) fact() {}

// RecalledCall is the recorded result of an identical call.
type RecalledCall struct {
	Call    string      `json:"call"`
	Outcome ToolOutcome `json:"outcome,omitempty"`
	Text    string      `json:"text,omitempty"`
	Images  []Image     `json:"images,omitempty"`
	// ResultDigest is set for a delegation, Reviewer for a submitted result: it is the reviewer's outcome.
	ResultDigest string   `json:"resultDigest,omitempty"`
	Reviewer     *Outcome `json:"reviewer,omitempty"`
	// Labels are the content labels of the run when it had the result.
	Labels []string `json:"labels,omitempty"`
	// Missing reports that the record has no result of the call. Expected describes the first call of the record that
	// was not made.
	Missing  bool   `json:"missing,omitempty"`
	Expected string `json:"expected,omitempty"`
}

// NewRecord returns the record of a run that continues from state s with the events.
func NewRecord(s State, events []Event) *Record {
	r := &Record{replies: map[string]recordedReply{}, byCall: map[string][]int{}}
	for _, e := range events {
		before := s
		s = applyEvent(s, e)
		if before.ModelCall != nil && before.ModelCall.RetryTime == 0 {
			r.addReply(*before.ModelCall, e.Fact, s)
		}
		if f, ok := e.Fact.(ChildFinished); ok && before.IsReviewer(f.Child) {
			r.addReview(before, f, s.LabelNames())
		}
		for _, c := range s.answered {
			r.addResult(before.Config, c, s.LabelNames())
		}
	}
	for _, c := range s.Batch {
		if c.State == CallDone {
			r.addResult(s.Config, c, s.LabelNames())
		}
	}
	return r
}

// addReply adds the fact that ended a model call. A failure that is retried does not end it.
func (r *Record) addReply(call ModelCall, fact Fact, after State) {
	if after.ModelCall != nil && after.ModelCall.ID == call.ID {
		return
	}
	switch f := fact.(type) {
	case ModelReplied:
		if f.Call == call.ID {
			r.replies[call.ID] = recordedReply{call.Purpose, f}
		}
	case ModelFailed:
		if f.Call == call.ID && f.Attempt == call.Attempt {
			r.replies[call.ID] = recordedReply{call.Purpose, f}
		}
	}
}

// addResult adds the result of a call, unless the core answers such a call itself.
func (r *Record) addResult(config Config, c BatchCall, labels []string) {
	written := c.writtenArguments()
	// Context files are read even if the model is not offered the tool.
	offered := config.Offers(c.Tool) || c.ModelCall == ""
	if !config.looksUp(c.Tool) || !offered || c.Problem != "" || !isObject(written) {
		return
	}
	r.add(c.Tool, written, RecalledCall{
		Outcome: c.Outcome, Text: c.Answer, Images: c.Images, ResultDigest: c.ResultDigest, Labels: labels,
	})
}

func (r *Record) addReview(s State, f ChildFinished, labels []string) {
	group := s.Children.Live[s.Children.find(f.Child)].Group
	if i := s.findCall(group, CallDelegated); i >= 0 {
		c := s.Batch[i]
		r.add(c.Tool, c.writtenArguments(), RecalledCall{Reviewer: &f.Outcome, Labels: labels})
	}
}

func (r *Record) add(tool, arguments string, result RecalledCall) {
	key := recordKey(tool, arguments)
	r.byCall[key] = append(r.byCall[key], len(r.results))
	r.results = append(r.results, recordedResult{tool, arguments, result})
}

// Recall looks up the results of all calls of a state that need them.
func (r *Record) Recall(s State) (Recalled, bool) {
	if s.Phase != PhaseActing {
		return Recalled{}, false
	}
	var fact Recalled
	used := maps.Clone(s.Recalled)
	if used == nil {
		used = map[string]int{}
	}
	for _, c := range s.Batch {
		if c.State != CallSought {
			continue
		}
		key := recordKey(c.Tool, c.Arguments)
		result := RecalledCall{Missing: true, Expected: r.nextCall(used)}
		if indices := r.byCall[key]; used[key] < len(indices) {
			result = r.results[indices[used[key]]].RecalledCall
			used[key]++
		}
		result.Call = c.ID
		fact.Calls = append(fact.Calls, result)
	}
	return fact, len(fact.Calls) > 0
}

// nextCall describes the first call of the record that was not made.
func (r *Record) nextCall(used map[string]int) string {
	seen := map[string]int{}
	for _, result := range r.results {
		key := recordKey(result.tool, result.arguments)
		if seen[key]++; seen[key] > used[key] {
			return describeCall(result.tool, result.arguments)
		}
	}
	return ""
}

// Reply returns the recorded reply to a model call. Without one, the run diverges: the record ends, or it has another
// call.
func (r *Record) Reply(e CallModel) Fact {
	reply, ok := r.replies[e.Call]
	if !ok || reply.purpose != e.Purpose {
		return ModelFailed{Call: e.Call, Attempt: e.Attempt, Failure: FailureDiverged, Message: textRecordEnds}
	}
	switch f := reply.fact.(type) {
	case ModelReplied:
		f.Recorded, f.TasksLeft = true, nil
		return f
	case ModelFailed:
		if f.Attempt = e.Attempt; f.Failure == FailureRetry { // the last attempt failed
			f.Failure = FailureFinal
		}
		f.Usage, f.RetryTime = nil, 0
		return f
	}
	return nil
}

const textNotInRecord = "the record has no review of it"

const textRecordEnds = "The run and its record differ: the run requests a reply of the model that the record does not have."

// maxDescribedCall bounds the description of a call in characters.
const maxDescribedCall = 300

func describeCall(tool, arguments string) string {
	return shorten.Head(strings.TrimSpace(tool+" "+arguments), maxDescribedCall)
}

func textDiverged(c BatchCall, expected string) string {
	text := "The run and its record differ. Expected " + expected
	if expected == "" {
		text = "The run and its record differ. Expected no further call"
	}
	return fmt.Sprintf("%s. Actual: %s", text, describeCall(c.Tool, c.Arguments))
}

// recordKey identifies identical calls: the tool and the canonical form of the arguments, in which the order of keys
// and white space do not matter.
func recordKey(tool, arguments string) string {
	var value any
	decoder := json.NewDecoder(strings.NewReader(arguments))
	decoder.UseNumber()
	if decoder.Decode(&value) == nil {
		if canonical, err := plainjson.Marshal(value); err == nil {
			arguments = string(canonical)
		}
	}
	return CallDigest(tool, arguments)
}

// looksUp reports whether the results of a tool's calls are looked up in a record. A submission has no result: it ends
// the run. Only its review is looked up.
func (c Config) looksUp(tool string) bool {
	return tool != ToolSubmit && tool != ToolGiveUp
}

// recalls reports whether the results of calls come from the record of a fork.
func (c Config) recalls() bool { return c.Fork.recallsResults() }

// RecallsReplies reports whether the replies of the model come from the record of a fork.
func (s State) RecallsReplies() bool { return s.Config.Fork.recallsReplies() }

// writtenArguments returns the arguments as the model wrote them.
func (c BatchCall) writtenArguments() string {
	if len(c.Edits) > 0 {
		return c.Edits[0].Before
	}
	return c.Arguments
}

// recalled answers calls from the record. In a read-only fork, a call of a read-only tool that is not in the record is
// made.
func recalled(s State, f Recalled) State {
	for _, result := range f.Calls {
		i := s.findCall(result.Call, CallSought)
		if s.Phase != PhaseActing || i < 0 {
			continue
		}
		c := s.Batch[i]
		if !result.Missing {
			s = s.withRecalled(i, result)
			continue
		}
		if c.Tool == ToolSubmit && !s.Config.Review.Required {
			submitted := *s.Review.Submitted
			return endUnreviewed(s.withCall(i, c.done(ToolSucceeded, "Submitted.")), submitted, textNotInRecord)
		}
		tool, plain := s.plainTool(c.Tool)
		if !plain || !tool.ReadOnly || s.Config.Fork.Results != ResultsReadOnly {
			return beginEnd(s, Outcome{Kind: ErrorDiverged, Error: textDiverged(c, result.Expected)})
		}
		s = s.withCall(i, planLiveTool(s, c))
	}
	return s
}

func (s State) withRecalled(i int, result RecalledCall) State {
	c := s.Batch[i]
	s.Recalled = maps.Clone(s.Recalled)
	if s.Recalled == nil {
		s.Recalled = map[string]int{}
	}
	s.Recalled[recordKey(c.Tool, c.Arguments)]++
	s = s.withLabels(result.Labels, c.Tool, c.ID)
	if result.Reviewer != nil {
		return reviewed(s, i, *result.Reviewer)
	}
	c = c.done(result.Outcome, result.Text)
	c.Images, c.ResultDigest = result.Images, result.ResultDigest
	return s.withCall(i, c)
}

// collectAnswered adds to s.answered the calls of the batch whose results are about to be appended to the history.
func (s State) collectAnswered() State {
	s.answered = slices.Clip(s.answered)
	if slices.ContainsFunc(s.Batch, func(c BatchCall) bool { return !s.Config.looksUp(c.Tool) }) {
		return s // the calls beside a submission are not made
	}
	for _, c := range s.Batch {
		if c.State == CallDone && (c.ModelCall != "" || s.ReadingContextFiles) {
			s.answered = append(s.answered, c)
		}
	}
	return s
}
