// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const closedVerdict = `{"type":"object","additionalProperties":false,"required":["verdict"],"properties":{"verdict":{"enum":["yes","no"]}}}`

// isolatedAgentsPassOnDataOnly checks both sides: an isolated agent does nothing and ends with data or a fixed text, and the agent that
// delegated to one gets nothing else, whatever is reported.
func isolatedAgentsPassOnDataOnly(t *rapid.T) func(step) {
	return func(s step) {
		if s.after.Config.Isolated {
			checkIsolated(t, s.after)
		}
		f, ok := s.event.Fact.(ChildFinished)
		i := s.before.Children.find(f.Child)
		if !ok || i < 0 || !s.before.Config.isolates(s.before.Children.Live[i].Role) {
			return
		}
		const canary = "CANARY"
		f.Outcome.Kind += ErrorKind(rapid.SampledFrom([]string{"", canary}).Draw(t, "kind"))
		f.Outcome.Error, f.Outcome.Iterations, f.Outcome.Duration = canary, 4711, 4712
		var data json.RawMessage
		if f.Outcome.Result != nil {
			data = f.Outcome.Result.Data
		}
		f.Outcome.Result = &Result{Text: canary, Summary: canary, Details: canary, FilesModified: []string{canary}, FilesCreated: []string{canary},
			Warnings: []string{canary}, Suggestions: []string{canary}, Images: []Image{{MediaType: canary}}, Data: data}
		f.Outcome.Labels = []string{LabelUntrusted, "internal"}
		after, effects := Step(s.before, Event{At: s.event.At, Fact: f})
		if text := encode(after) + toJSON(effects); strings.Contains(text, canary) || strings.Contains(text, "4711") || strings.Contains(text, "4712") {
			t.Fatalf("what an isolated agent read has reached the agent that delegated to it: %s", text)
		}
		pending := s.before.Children.Live[i].pending()
		if pending && !after.Labels.Has("internal") || after.Labels.Has(LabelUntrusted) != s.before.Labels.Has(LabelUntrusted) {
			t.Fatalf("the labels are %v", after.LabelNames())
		}
	}
}

func checkIsolated(t *rapid.T, s State) {
	for _, e := range Outstanding(s) {
		switch e := e.(type) {
		case CallModel, WakeAt, ReportOutcome:
			continue
		case RunTool:
			written := string(e.Arguments)
			if i := s.findCall(e.Call, CallRunning); i >= 0 && len(s.Batch[i].Edits) > 0 {
				written = s.Batch[i].Edits[0].Before // a person has approved it with other arguments
			}
			if s.readsInputs() && slices.Contains(s.Config.Task.Inputs.Calls, InputCall{Tool: e.Tool, Arguments: written}) && e.Tool == "read" {
				continue
			}
		case AskPerson: // its text is that of the agent that named the call
			if s.readsInputs() && e.Kind == AskApproval && e.Policy != nil {
				continue
			}
		}
		t.Fatalf("an isolated agent causes %v", e)
	}
	if !s.Phase.Terminal() || s.Outcome.Kind == ErrorHistoryLost { // what leaves a quarantined agent is reduced by those who report it
		return
	}
	want := Outcome{Kind: s.Outcome.Kind, Error: textIsolatedFailed, Labels: s.Outcome.Labels}
	switch s.Outcome.Kind {
	case "":
		want.Error, want.Result = "", &Result{Data: s.Outcome.Result.Data}
		if data := string(s.Outcome.Result.Data); data != `{"verdict":"yes"}` && data != `{"verdict":"no"}` {
			t.Fatalf("the data is %s", data)
		}
	case ErrorCancelled:
		want.Error = textIsolatedCancelled
	case ErrorSubAgent:
	default:
		t.Fatalf("the error is of the kind %s", s.Outcome.Kind)
	}
	if diff := cmp.Diff(want, *s.Outcome); diff != "" {
		t.Fatalf("more than data leaves an isolated agent: %s", diff)
	}
	labels := slices.DeleteFunc(s.LabelNames(), func(name string) bool { return name == LabelUntrusted })
	if !slices.Equal(labels, s.Outcome.Labels) {
		t.Fatalf("the result has the labels %v, the agent %v", s.Outcome.Labels, s.LabelNames())
	}
}

func TestIsolatedAgentHasOneTool(t *testing.T) {
	c := Config{Kind: SubAgent, Name: "a", Depth: 1, MaxDepth: 3, Isolated: true, OutputSchema: json.RawMessage(closedVerdict), Role: Role{Allow: []string{"*"}},
		Tools: []Tool{{Name: "read", ReadOnly: true}, {Name: "read_skill", Granted: true}}, Delegates: []Delegate{{Name: "helper", AsTool: &AsTool{Name: "Help"}}}}
	if diff := cmp.Diff([]string{ToolSubmit, ToolGiveUp}, c.toolNames()); diff != "" {
		t.Error(diff)
	}
	if schema, ok := c.SchemaOf(ToolSubmit); !ok || strings.Contains(string(schema), "summary") {
		t.Errorf("submit_result takes %s", schema)
	}
}

// What the model may not pass to an isolated agent, or get from it later, is refused with a reason.
func TestDelegationToIsolatedRole(t *testing.T) {
	c := Config{Kind: Orchestrator, Name: "chat", MaxDepth: 2, Delegates: []Delegate{{Name: "judge", Isolated: true}}}
	if _, problem := (delegation{Role: "judge", Task: "Is it spam?", ContextFiles: []string{"a.txt"}}).spec(c); !strings.Contains(problem, "isolated") {
		t.Errorf("files are accepted: %q", problem)
	}
	s := State{Config: c, Children: Children{Ended: []EndedChild{{Name: "chat-1", Role: "judge"}}}}
	_, call := continueAgent(s, BatchCall{ToolCall: ToolCall{Tool: ToolContinue, Arguments: `{"sub_agent":"chat-1","message":"What did it say?"}`}})
	if call.Outcome != ToolFailed || !strings.Contains(call.Answer, "isolated") {
		t.Errorf("it is continued: %+v", call)
	}
}
