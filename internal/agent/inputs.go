// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// This file implements inputs by reference: read-only calls that an agent names for an isolated agent. They are judged as calls of the
// agent that names them, and performed as calls of the isolated agent, which alone gets the results. See
// docs/adr/0037-inputs-are-calls-of-the-child.md.

// InputCall is a read-only call.
type InputCall struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

// Inputs are the inputs by reference of an agent.
type Inputs struct {
	// Role and Depth are those of the agent that named the calls.
	Role  string      `json:"role"`
	Depth int         `json:"depth"`
	Calls []InputCall `json:"calls"`
	// Approved are the rules that a person was shown who approved the delegation.
	Approved []Verdict `json:"approved,omitempty"`
}

// maxInputs is how many plain tools of an agent run at the same time.
const maxInputs = maxParallelTools

const (
	textNotIsolated   = "The role is not isolated any more, so the agent got no inputs by reference: delegate again."
	textIsolatedAsked = "The tool asked a question, which an isolated agent cannot pass on."
)

// namedInput is an input as a model names it: a file, or a call.
type namedInput struct {
	File      string          `json:"file"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// inputs checks the inputs by reference of a delegation. A problem is text for the model that says what to change.
func (d delegation) inputs(config Config) (inputs *Inputs, problem string) {
	switch {
	case len(d.Inputs) == 0:
		return nil, ""
	case !config.isolates(d.Role):
		return nil, fmt.Sprintf(`only isolated roles take "inputs", and %s is none: leave "inputs" out.`, d.Role)
	case len(d.Inputs) > maxInputs:
		return nil, fmt.Sprintf(`"inputs" may have at most %d entries.`, maxInputs)
	}
	inputs = &Inputs{Role: config.Role.Name, Depth: config.Depth}
	for i, named := range d.Inputs {
		input, problem := named.call(config)
		if problem != "" {
			return nil, fmt.Sprintf(`entry %d of "inputs": %s`, i+1, problem)
		}
		inputs.Calls = append(inputs.Calls, input)
	}
	return inputs, ""
}

// call returns the call of an input, which must be one that the agent may make itself.
func (n namedInput) call(config Config) (input InputCall, problem string) {
	input = InputCall{Tool: n.Tool, Arguments: string(n.Arguments)}
	switch {
	case (n.File == "") == (n.Tool == ""):
		return input, `name either a "file" or a "tool".`
	case n.File != "" && !insideWorkspace(n.File):
		return input, fmt.Sprintf("%q is no file of the workspace: name a relative path inside it.", n.File)
	case n.File != "":
		input = InputCall{Tool: toolRead, Arguments: toJSON(map[string]string{"path": n.File})}
	case len(n.Arguments) == 0:
		input.Arguments = "{}"
	case !isObject(input.Arguments):
		return input, `"arguments" must be a JSON object.`
	}
	tool, exists := config.tool(input.Tool)
	switch {
	case !exists || config.reserved(input.Tool) || !config.Offers(input.Tool):
		return input, fmt.Sprintf("you have no tool %q that reads.", input.Tool)
	case !tool.ReadOnly || tool.Granted:
		return input, fmt.Sprintf("%s is not a read-only tool that another agent can use.", input.Tool)
	case config.Kind == Orchestrator && config.Role.needsApproval(tool):
		return input, fmt.Sprintf("a person must approve %s, and you cannot wait for that. Report it, and let the user decide.", input.Tool)
	}
	return input, ""
}

// InputsOf returns the valid inputs by reference that a call of the agent names, for a driver that checks their arguments.
func (c Config) InputsOf(call ToolCall) []InputCall {
	var in struct {
		delegation
		Tasks []delegation `json:"tasks"`
	}
	if call.Tool != ToolDelegate && call.Tool != ToolSpawn || jsonInto(call.Arguments, &in) != nil {
		return nil
	}
	var calls []InputCall
	for _, d := range append(in.Tasks, in.delegation) {
		if inputs, problem := d.inputs(c); inputs != nil && problem == "" {
			calls = append(calls, inputs.Calls...)
		}
	}
	return calls
}

// approved returns the inputs of a delegation that a person has approved.
func (in *Inputs) approved(rules []Verdict) *Inputs {
	if in == nil || len(rules) == 0 {
		return in
	}
	with := *in
	with.Approved = rules
	return &with
}

// calls returns the calls; none for nil.
func (in *Inputs) calls() []InputCall {
	if in == nil {
		return nil
	}
	return in.Calls
}

// needApproval reports whether the role requires an approval for an input of children that a call starts.
func (s State) needApproval(children []Child) bool {
	return slices.ContainsFunc(children, func(c Child) bool {
		return slices.ContainsFunc(c.Inputs.calls(), func(input InputCall) bool {
			tool, _ := s.Config.tool(input.Tool)
			return s.Config.Role.needsApproval(tool)
		})
	})
}

// judgedInputs returns the inputs of a child as policies judge them: as calls of the agent that named them.
func (s State) judgedInputs(delegation PlannedCall, inputs *Inputs) []PlannedCall {
	var calls []PlannedCall
	for _, input := range inputs.calls() {
		call := delegation
		call.Tool, call.Arguments, call.TargetRole, call.Control, call.ReadOnly, call.ByChild = input.Tool, json.RawMessage(input.Arguments), "", false, true, true
		calls = append(calls, call)
	}
	return calls
}

// InputsFor returns the inputs by reference of a child, and their tools.
func (s State) InputsFor(child string) (*Inputs, []Tool) {
	i := s.Children.find(child)
	if i < 0 {
		return nil, nil
	}
	var tools []Tool
	for _, t := range s.Config.Tools {
		if slices.ContainsFunc(s.Children.Live[i].Inputs.calls(), func(input InputCall) bool { return input.Tool == t.Name }) {
			tools = append(tools, t)
		}
	}
	return s.Children.Live[i].Inputs, tools
}

// readInputs performs the inputs by reference. The agent that named them has the approvals that its role requires.
func readInputs(s State) State {
	if !s.Config.Isolated {
		return beginEnd(s.appendUserText(s.Config.Task.text()), Outcome{Kind: ErrorInvalidSpec, Error: textNotIsolated})
	}
	s.Phase, s.ReadingContextFiles = PhaseActing, true
	for i, input := range s.Config.Task.Inputs.Calls {
		c := BatchCall{
			ToolCall: ToolCall{ID: fmt.Sprintf("input-%d", i+1), Tool: input.Tool, Arguments: input.Arguments},
			State:    CallQueued, Approved: s.Config.Task.Inputs.Approved, At: s.Clock.Now,
		}
		if t, plain := s.plainTool(c.Tool); !plain || !t.ReadOnly {
			c = c.done(ToolFailed, fmt.Sprintf("There is no read-only tool %q.", c.Tool))
		}
		s.CallIDs = s.CallIDs.with(c.ID)
		s.Batch = append(s.Batch, c)
	}
	return s
}

// readsInputs reports whether the calls of the agent are its inputs by reference.
func (s State) readsInputs() bool { return s.ReadingContextFiles && s.Config.Task.Inputs != nil }

// JudgedAs returns the role, depth and labels with which the calls of an agent are judged. Inputs by reference are judged with those of the
// agent that named them all, before it got the result of one.
func (s State) JudgedAs() (role string, depth int, labels Labels) {
	if !s.readsInputs() {
		return s.Config.Role.Name, s.Config.Depth, s.Labels
	}
	for _, label := range s.Labels {
		if label.Call == "" {
			labels = append(labels, label)
		}
	}
	return s.Config.Task.Inputs.Role, s.Config.Task.Inputs.Depth, labels
}

// title introduces the result of an input.
func (in InputCall) title() string {
	return "Input " + strings.TrimSpace(in.Tool+" "+in.Arguments) + ":"
}
