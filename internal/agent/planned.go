// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"slices"
	"strings"
)

// PlannedCall is a call as policies judge it. A call that starts several children is judged once for each of them.
type PlannedCall struct {
	Call string
	Tool string
	// Arguments are the bytes that the tool gets; those of a delegation are the part that is about the child.
	Arguments json.RawMessage
	ReadOnly  bool
	// TargetRole is the role of the child that the call starts, if any.
	TargetRole string
	// ByChild reports that a child performs the call: it is an input by reference.
	ByChild bool
	// Control reports that the call is one of the agent's own tools, not one of a tool server.
	Control bool
	// Counted is how many writes of the call are part of the usage already.
	Counted int64
	// call is the call of the batch.
	call BatchCall
}

// Starts reports whether the call needs no person before it starts, if these are the verdicts on it.
func (p PlannedCall) Starts(verdicts []Verdict) bool {
	rules, denied := p.call.unapproved(verdicts)
	return p.call.State == CallQueued && len(rules) == 0 && denied == nil
}

// Unjudged returns the calls that wait for a verdict: those that were just planned, and those that could start now.
func Unjudged(s State) []PlannedCall {
	if !s.Policed || s.Phase != PhaseActing {
		return nil
	}
	var startable []int
	ordered := false
	var calls []PlannedCall
	for i, c := range s.Batch {
		if !s.needsVerdict(c) {
			continue
		}
		if c.Verdict != nil {
			if !ordered {
				startable, ordered = s.orderedCalls(), true
			}
			if !slices.Contains(startable, i) {
				continue
			}
		}
		calls = append(calls, s.plannedCalls(c)...)
	}
	return calls
}

// JudgedMoment is a moment at which policies judge a call.
type JudgedMoment struct {
	PlannedCall
	// First reports that the call was just planned. Otherwise it is about to start, or to continue.
	First bool
	// Role and Depth are those of the agent as whose call it is judged, and Labels the content labels.
	Role   string
	Depth  int
	Labels Labels
}

// JudgedMoments returns the calls that policies judge in the step of an event. Without policies, it returns those that they would have
// judged.
func JudgedMoments(before State, e Event) []JudgedMoment {
	at := before
	if _, judged := e.Fact.(Judged); !judged {
		at, _ = Step(before.unrestricted(), policed(e))
	}
	var moments []JudgedMoment
	role, depth, labels := at.JudgedAs()
	for _, call := range Unjudged(at) {
		i := at.findCall(call.Call, CallQueued, CallUndecided)
		first := i >= 0 && at.Batch[i].Verdict == nil
		moments = append(moments, JudgedMoment{PlannedCall: call, First: first, Role: role, Depth: depth, Labels: labels})
	}
	return moments
}

// unrestricted returns the state as it would be under policies that have allowed all calls so far.
func (s State) unrestricted() State {
	s.Policed = true
	s.Batch = slices.Clone(s.Batch)
	for i, c := range s.Batch {
		if c.Verdict == nil {
			s.Batch[i].Verdict = &CallVerdict{}
		}
	}
	return s
}

// policed returns an event with which policies apply.
func policed(e Event) Event {
	switch f := e.Fact.(type) {
	case Started:
		f.Policed = true
		e.Fact = f
	case Restarted:
		f.Policed = true
		e.Fact = f
	case Resumed:
		f.Policed = true
		e.Fact = f
	}
	return e
}

// WaitsForPolicies returns why the agent's calls cannot be judged, or an empty string.
func (s State) WaitsForPolicies() string {
	running := func(c BatchCall) bool { return c.State == CallRunning }
	if s.PolicyWait == "" || slices.ContainsFunc(s.Batch, running) || len(Unjudged(s)) == 0 {
		return ""
	}
	return s.PolicyWait
}

// needsVerdict reports whether a call in its state must be judged before anything happens to it: before it starts, and
// before a person is asked about it.
func (s State) needsVerdict(c BatchCall) bool {
	if !s.Policed || !s.isJudged(c.Tool) || slices.Contains(s.judgedNow, c.ID) {
		return false
	}
	switch c.State {
	case CallQueued:
		return true
	case CallUndecided:
		return c.Verdict == nil
	}
	return false
}

// isJudged reports whether calls of a tool are judged by the agent's own policies. A plain tool of an orchestrator
// runs as a task of its own, which is judged there.
func (s State) isJudged(tool string) bool {
	switch tool {
	case ToolSubmit, ToolGiveUp, ToolTitle:
		return false
	}
	_, plain := s.plainTool(tool)
	return s.Config.Kind != Orchestrator || !plain
}

// IsPlainTool reports whether a tool is neither a control tool nor a role.
func (s State) IsPlainTool(name string) bool {
	_, plain := s.plainTool(name)
	return plain
}

// plannedCalls returns a call as policies judge it.
func (s State) plannedCalls(c BatchCall) []PlannedCall {
	planned := PlannedCall{Call: c.ID, Tool: c.Tool, Arguments: json.RawMessage(c.Arguments), Counted: c.Writes, call: c}
	if tool, plain := s.plainTool(c.Tool); plain {
		planned.ReadOnly = tool.ReadOnly
		return []PlannedCall{planned}
	}
	planned.Control, planned.ReadOnly = true, true
	if !s.Config.startsTasks(c.Tool) {
		planned.Arguments = controlArguments(c.Arguments)
		return []PlannedCall{planned}
	}
	started, _ := s.startTasks(c)
	var calls []PlannedCall
	for _, child := range started.Children.Live[min(len(s.Children.Live), len(started.Children.Live)):] {
		call := planned
		call.TargetRole, call.Arguments = child.Role, child.judgedArguments()
		calls = append(append(calls, call), s.judgedInputs(planned, child.Inputs)...)
	}
	if calls == nil { // it starts nothing, and its answer says why
		return []PlannedCall{planned}
	}
	return calls
}

// controlArguments returns arguments with the names of the fields that control tools read: they match keys regardless of case, and an
// expression does not.
func controlArguments(raw string) json.RawMessage {
	var given map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &given) != nil {
		return json.RawMessage(raw)
	}
	named := map[string]json.RawMessage{}
	for key, value := range given {
		for _, name := range []string{"question", "sub_agent", "answer", "confidence", "task"} {
			if strings.EqualFold(key, name) {
				key = name
			}
		}
		if _, twice := named[key]; twice {
			return json.RawMessage(raw) // policies refuse it
		}
		named[key] = value
	}
	return json.RawMessage(toJSON(named))
}

// judgedArguments returns what a child gets, in the words of delegate_to_agent. It is built from the decoded call:
// keys that differ only in case would let a call say one thing to a policy and another to the child.
func (c Child) judgedArguments() json.RawMessage {
	if len(c.Arguments) > 0 {
		return c.Arguments
	}
	arguments := map[string]any{"role": c.Role, "task": c.Task}
	for name, value := range map[string]string{
		"success_criteria": c.SuccessCriteria, "context": strings.ToLower(c.Context),
		"cwd": c.WorkingDir, "sub_agent": c.ContinueFrom,
	} {
		if value != "" {
			arguments[name] = value
		}
	}
	if len(c.ContextFiles) > 0 {
		arguments["context_files"] = c.ContextFiles
	}
	if inputs := c.Inputs.calls(); len(inputs) > 0 {
		arguments["inputs"] = inputs
	}
	return json.RawMessage(toJSON(arguments))
}
