// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inputsConfig is the configuration of an agent that may delegate to an isolated role.
func inputsConfig(kind Kind) Config {
	return Config{
		Kind: kind, Name: "a", Depth: 1, MaxDepth: 3, Role: Role{Name: "triage", Allow: []string{"read", "tracker__*"}, Approval: ApproveNever},
		Tools:     []Tool{{Name: "read", ReadOnly: true}, {Name: "grep", ReadOnly: true}, {Name: "tracker__get", ReadOnly: true}, {Name: "tracker__close"}},
		Delegates: []Delegate{{Name: "judge", Isolated: true}, {Name: "helper"}},
	}
}

func named(tool, arguments string) namedInput {
	return namedInput{Tool: tool, Arguments: json.RawMessage(arguments)}
}

// An agent can name only what it could read itself, and only for an isolated role.
func TestInputsOfDelegation(t *testing.T) {
	asks := inputsConfig(Orchestrator)
	asks.Role.Approval = ApproveAlways
	many := slices.Repeat([]namedInput{{File: "a"}}, maxInputs+1)
	for name, test := range map[string]struct {
		config Config
		role   string
		inputs []namedInput
		want   string
	}{
		"a file and a call": {inputsConfig(SubAgent), "judge", []namedInput{{File: "docs/a.md"}, named("tracker__get", `{"id": 7}`), named("read", "")}, ""},
		"another role":      {inputsConfig(SubAgent), "helper", []namedInput{{File: "a"}}, "only isolated roles"},
		"too many":          {inputsConfig(SubAgent), "judge", many, "at most 16"},
		"neither":           {inputsConfig(SubAgent), "judge", []namedInput{{}}, `entry 1 of "inputs": name either`},
		"both":              {inputsConfig(SubAgent), "judge", []namedInput{{File: "a", Tool: "read"}}, "name either"},
		"outside":           {inputsConfig(SubAgent), "judge", []namedInput{{File: "../a"}}, "inside it"},
		"no object":         {inputsConfig(SubAgent), "judge", []namedInput{named("read", "7")}, "JSON object"},
		"a write":           {inputsConfig(SubAgent), "judge", []namedInput{named("tracker__close", "{}")}, "not a read-only tool"},
		"a forbidden tool":  {inputsConfig(SubAgent), "judge", []namedInput{named("grep", "{}")}, "you have no tool"},
		"an unknown tool":   {inputsConfig(SubAgent), "judge", []namedInput{named("nonsense", "{}")}, "you have no tool"},
		"a control tool":    {inputsConfig(SubAgent), "judge", []namedInput{named(ToolAskUser, "{}")}, "you have no tool"},
		"a chat that asks":  {asks, "judge", []namedInput{{File: "a"}}, "a person must approve read"},
		"a chat that may":   {inputsConfig(Orchestrator), "judge", []namedInput{{File: "a"}}, ""},
	} {
		spec, problem := delegation{Role: test.role, Task: "Judge it.", Inputs: test.inputs}.spec(test.config)
		if (test.want == "") != (problem == "") || !strings.Contains(problem, test.want) {
			t.Errorf("%s: the problem is %q, want %q", name, problem, test.want)
		}
		if name != "a file and a call" {
			continue
		}
		want := &Inputs{Role: "triage", Depth: 1, Calls: []InputCall{
			{Tool: "read", Arguments: `{"path":"docs/a.md"}`}, {Tool: "tracker__get", Arguments: `{"id": 7}`}, {Tool: "read", Arguments: "{}"},
		}}
		if diff := cmp.Diff(want, spec.Inputs); diff != "" {
			t.Error(diff)
		}
	}
}

// delegateInputs starts an agent that delegates with inputs by reference.
func delegateInputs(t *testing.T, config Config, policed bool) State {
	t.Helper()
	s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: config, Policed: policed}})
	s, _ = Step(s, Event{At: 2, Fact: ModelReplied{Call: s.ModelCall.ID, Calls: []ToolCall{{
		ID: "c1", Tool: ToolDelegate, Arguments: `{"role":"judge","task":"Spam?","inputs":[{"tool":"tracker__get","arguments":{"id": 7}}]}`,
	}}}})
	return s
}

// The inputs are judged as calls of the agent that names them, beside the delegation. An approval goes to the child with its rules.
func TestInputsAreJudged(t *testing.T) {
	s := delegateInputs(t, inputsConfig(SubAgent), true)
	calls := Unjudged(s)
	if len(calls) != 2 || calls[0].TargetRole != "judge" || !strings.Contains(string(calls[0].Arguments), `"inputs":[{"tool":"tracker__get"`) {
		t.Fatalf("the calls to judge are %+v", calls)
	}
	if in := calls[1]; in.Call != "c1" || in.Tool != "tracker__get" || string(in.Arguments) != `{"id": 7}` || !in.ReadOnly || in.Control || in.TargetRole != "" {
		t.Errorf("the input is judged as %+v", in)
	}
	asks := Judged{Policed: true, Calls: []JudgedCall{{Call: "c1", Verdicts: []Verdict{askingPolicy}}}}
	s, _ = Step(s, Event{At: 3, Fact: asks})
	if open := PendingAsks(s); len(open) != 1 || open[0].Tool != ToolDelegate {
		t.Fatalf("the asks are %+v, want the delegation", open)
	}
	denied, _ := Step(s, Event{At: 4, Fact: Decided{Call: "c1"}})
	if denied.Children.Started != 0 {
		t.Error("a denied delegation has started")
	}
	s, _ = Step(s, Event{At: 4, Fact: Decided{Call: "c1", Approve: true}})
	s, _ = Step(s, Event{At: 5, Fact: asks})
	inputs, tools := s.InputsFor("a-1")
	want := &Inputs{Role: "triage", Depth: 1, Calls: []InputCall{{Tool: "tracker__get", Arguments: `{"id": 7}`}}, Approved: []Verdict{askingPolicy}}
	if diff := cmp.Diff(want, inputs); diff != "" || len(tools) != 1 || tools[0].Name != "tracker__get" {
		t.Errorf("the child gets %+v: %s", tools, diff)
	}

	child := isolatedConfig(inputs, tools)
	read, _ := Step(State{}, Event{At: 6, Fact: Started{Config: child, Policed: true, Labels: []string{"internal"}}})
	if role, depth, labels := read.JudgedAs(); role != "triage" || depth != 1 || !slices.Equal(labels.Names(), []string{"internal"}) {
		t.Errorf("the inputs are judged as calls of %s at depth %d with %v", role, depth, labels)
	}
	asks.Calls[0].Call = "input-1"
	read, _ = Step(read, Event{At: 7, Fact: asks})
	if got := Outstanding(read); len(got) != 1 || got[0].Key() != "tool//input-1" {
		t.Errorf("outstanding is %v, want the call that was approved", got)
	}
	other := asks
	other.Calls = []JudgedCall{{Call: "input-1", Verdicts: []Verdict{{Policy: "team/p", UID: "2", Rule: "s", Action: PolicyRequireApproval}}}}
	again, _ := Step(State{}, Event{At: 6, Fact: Started{Config: child, Policed: true}})
	again, _ = Step(again, Event{At: 7, Fact: other})
	if open := PendingAsks(again); len(open) != 1 || open[0].Tool != "tracker__get" {
		t.Errorf("the asks are %+v, want one for the rule that was not shown", open)
	}
}

// An approval that the role requires is asked for before the delegation starts.
func TestInputsNeedTheirApproval(t *testing.T) {
	config := inputsConfig(SubAgent)
	config.Role.ApprovalTools = []string{"tracker__*"}
	s := delegateInputs(t, config, false)
	if open := PendingAsks(s); len(open) != 1 || open[0].Tool != ToolDelegate || s.Children.Started != 0 {
		t.Fatalf("the asks are %+v, and %d children have started", open, s.Children.Started)
	}
	s, _ = Step(s, Event{At: 3, Fact: Decided{Call: "c1", Approve: true}})
	if s.Children.Started != 1 {
		t.Error("the approved delegation has not started")
	}
}

func isolatedConfig(inputs *Inputs, tools []Tool) Config {
	return Config{
		Kind: SubAgent, Name: "a-1", Depth: 2, MaxDepth: 3, Isolated: true, OutputSchema: json.RawMessage(closedVerdict),
		Tools: tools, Task: Task{Instruction: "Spam?", Inputs: inputs}, Limits: Limits{MaxIterations: 3},
	}
}

// What the calls return, and why one fails, is part of the first message of the isolated agent only.
func TestInputsReachTheirAgent(t *testing.T) {
	inputs := &Inputs{Role: "triage", Depth: 1, Calls: []InputCall{{Tool: "read", Arguments: `{"path":"a"}`}, {Tool: "get", Arguments: "{}"}, {Tool: "close", Arguments: "{}"}}}
	tools := []Tool{{Name: "read", ReadOnly: true}, {Name: "get", ReadOnly: true}, {Name: "close"}}
	s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: isolatedConfig(inputs, tools)}})
	if got := Outstanding(s); len(got) != 2 {
		t.Fatalf("outstanding is %v, want the two calls that only read", got)
	}
	if len(Tools(s.Config)) != 2 {
		t.Errorf("the model has the tools %v", s.Config.toolNames())
	}
	images := []Image{{Digest: "sha256:1", MediaType: "image/png"}}
	s, _ = Step(s, Event{At: 2, Fact: ToolFinished{Call: "input-1", Outcome: ToolSucceeded, Text: "buy now", Images: images}})
	s, _ = Step(s, Event{At: 3, Fact: ToolAsked{Call: "input-2", Number: 1, Question: "Who are you?", Open: true}})
	if open := PendingAsks(s); len(open) != 0 || s.Phase != PhaseRequesting {
		t.Fatalf("the phase is %s and the asks are %+v", s.Phase, open)
	}
	want := "Input read {\"path\":\"a\"}:\nbuy now\n\nInput get {}:\n(could not be read: " + textIsolatedAsked + ")\n\n" +
		"Input close {}:\n(could not be read: There is no read-only tool \"close\".)\n\nSpam?"
	if first := BuildPrompt(s).Messages[0]; first.Text != want || len(first.Images) != 1 {
		t.Errorf("the first message is %+v", first)
	}
	if !slices.Equal(s.LabelNames(), []string{LabelUntrusted}) {
		t.Errorf("the labels are %v", s.LabelNames())
	}
	config := s.Config
	config.Isolated = false
	if open, _ := Step(State{}, Event{At: 1, Fact: Started{Config: config}}); open.Outcome == nil || open.Outcome.Kind != ErrorInvalidSpec {
		t.Errorf("an agent that is not isolated reads its inputs: %+v", open.Outcome)
	}
}
