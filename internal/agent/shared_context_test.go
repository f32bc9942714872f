// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

func delegating(kind Kind) Config {
	return Config{Kind: kind, Name: "a", MaxDepth: 2, Delegates: []Delegate{{Name: "coder"}},
		Limits: Limits{MaxIterations: 5, MaxOutputTokens: 100, ContextTokens: 8000, MaxRetries: 1}}
}

func delegate(id, mode string) ToolCall {
	return ToolCall{ID: id, Tool: ToolDelegate, Arguments: `{"role":"coder","task":"work","context":"` + mode + `"}`}
}

// startedDelegation lets an orchestrator handle a message and delegate.
func startedDelegation(calls ...ToolCall) State {
	return replayFacts(State{}, Started{Config: delegating(Orchestrator)}, MessageArrived{Message: "m", Text: "The colour is green."},
		ModelReplied{Call: "m1", Text: "I will ask a coder.", Calls: calls})
}

func TestFanOutSharesOneSummary(t *testing.T) {
	s := startedDelegation(delegate("c1", "summary"), delegate("c2", "summary"), delegate("c3", "none"))
	if s.ModelCall == nil || s.ModelCall.Purpose != PurposeContext || s.Children.Started != 0 {
		t.Fatalf("no summary is requested first: %s", s)
	}
	if prompt := BuildPrompt(s); !strings.Contains(prompt.Messages[0].Text, "The colour is green.") || len(prompt.Tools) > 0 {
		t.Errorf("the summary is requested of %q", prompt.Messages[0].Text)
	}
	if s.Iterations != 1 {
		t.Errorf("the summary counts as an iteration: %d", s.Iterations)
	}
	s = replayFacts(s, ModelReplied{Call: "m2", Text: "It is about green.", Usage: budget.Usage{PromptTokens: 7}})
	if s.Children.Started != 3 || s.Usage.PromptTokens != 7 {
		t.Fatalf("%d children were started with a usage of %d tokens", s.Children.Started, s.Usage.PromptTokens)
	}
	for child, want := range map[string]string{"a-1": "It is about green.", "a-2": "It is about green.", "a-3": "", "nobody": ""} {
		if got := s.ContextFor(child, 1000); got != want {
			t.Errorf("the context of %s is %q, want %q", child, got, want)
		}
	}
	if s.ModelCall == nil || s.ModelCall.Purpose != PurposeTurn {
		t.Errorf("the turn does not continue: %s", s)
	}
	for _, c := range s.History.Messages() {
		if c.Speaker == ToolSpeaker && c.Outcome != ToolSucceeded {
			t.Errorf("a delegation failed: %s", c)
		}
	}
}

func TestNextSummaryExtendsTheLast(t *testing.T) {
	s := replayFacts(startedDelegation(delegate("c1", "summary")), ModelReplied{Call: "m2", Text: "It is about green."}, ModelReplied{Call: "m3", Text: "Started."},
		MessageArrived{Message: "n", Text: "And blue."}, ModelReplied{Call: "m4", Calls: []ToolCall{delegate("c2", "summary")}})
	text := BuildPrompt(s).Messages[0].Text
	if !strings.Contains(text, "It is about green.") || !strings.Contains(text, "And blue.") || strings.Contains(text, "The colour is green.") {
		t.Errorf("the second summary is requested of %q", text)
	}
	first, second := s.ContextFor("a-1", 1000), replayFacts(s, ModelReplied{Call: "m5", Text: "Green and blue."})
	if first != "It is about green." || second.ContextFor("a-1", 1000) != first || second.ContextFor("a-2", 1000) != "Green and blue." {
		t.Errorf("a later summary changed the context of an earlier child: %q", second.ContextFor("a-1", 1000))
	}
}

func TestCallsAreAnsweredWithoutSummary(t *testing.T) {
	for name, facts := range map[string][]Fact{
		"the model fails": {ModelFailed{Call: "m2", Attempt: 1, Failure: FailureFinal, Message: "broken"}},
		"a cancel":        {Cancelled{}},
		"no budget":       {ModelFailed{Call: "m2", Attempt: 1, Failure: FailureBudget, Message: "used up"}},
	} {
		s := replayFacts(startedDelegation(delegate("c1", "summary"), ToolCall{ID: "c2", Tool: "nothing"}), facts...)
		answered := map[string]bool{}
		for _, m := range s.History.Messages() {
			if m.Speaker == ToolSpeaker {
				answered[m.Call] = true
			}
		}
		if !answered["c1"] || !answered["c2"] || s.Planned != nil || s.Phase != PhaseIdle || s.Children.Started != 0 {
			t.Errorf("%s: answered %v, %s", name, answered, s)
		}
	}
}

func TestFullContextAtDelegation(t *testing.T) {
	s := startedDelegation(delegate("c1", "full"))
	if s.ModelCall.Purpose != PurposeTurn {
		t.Fatalf("a summary is requested without need: %s", s)
	}
	s = replayFacts(s, ModelReplied{Call: "m2", Text: "Started."}, MessageArrived{Message: "n", Text: "Something else."})
	shown := s.ContextFor("a-1", 1000)
	if !strings.Contains(shown, "The colour is green.") || !strings.Contains(shown, "I will ask a coder.") || strings.Contains(shown, "Something else.") {
		t.Errorf("the context is %q", shown)
	}
	if short := s.ContextFor("a-1", 20); !strings.Contains(short, "earlier messages left out") {
		t.Errorf("with few tokens the context is %q", short)
	}
}

func TestSelectiveContextNeedsFiles(t *testing.T) {
	s := startedDelegation(delegate("c1", "selective"))
	messages := s.History.Messages()
	if last := messages[len(messages)-1]; last.Outcome != ToolFailed || !strings.Contains(last.Text, "context_files") {
		t.Errorf("the answer for the model is %q", last.Text)
	}
}

func reading(tools ...Tool) State {
	config := delegating(SubAgent)
	config.Depth, config.Tools, config.Role.Allow = 1, tools, []string{"read"}
	config.Task = Task{Instruction: "Work.", ContextMode: ContextSelective, ContextFiles: []string{"a.txt", "b.txt"}}
	return replayFacts(State{}, Started{Config: config})
}

func TestFilesReadBeforeFirstCall(t *testing.T) {
	s := reading(Tool{Name: "read", ReadOnly: true})
	if s.Phase != PhaseActing || len(Outstanding(s)) != 2 {
		t.Fatalf("no file is read: %s, %v", s, Outstanding(s))
	}
	s = replayFacts(s, ToolFinished{Call: "context-2", Outcome: ToolFailed, Text: "no such file"})
	s = replayFacts(s, ToolFinished{Call: "context-1", Outcome: ToolSucceeded, Text: "buy milk"})
	if s.Phase != PhaseRequesting || s.ReadingContextFiles {
		t.Fatalf("the work does not begin: %s", s)
	}
	messages := BuildPrompt(s).Messages
	want := "Files to begin with:\nFile a.txt:\nbuy milk\n\nFile b.txt:\n(could not be read: no such file)\n\nWork."
	if len(messages) != 1 || messages[0].Text != want {
		t.Errorf("the first message is %q", messages[0].Text)
	}
}

func TestContextFilesNeedAWorkspace(t *testing.T) {
	for name, s := range map[string]State{"no workspace": reading(), "a role that may not read": reading(Tool{Name: "read", ReadOnly: true}, Tool{})} {
		if name == "a role that may not read" {
			s.Config.Role.Deny = []string{"read"}
			s = replayFacts(State{}, Started{Config: s.Config})
		}
		if s.Phase != PhaseFailed || s.Outcome.Kind != ErrorInvalidSpec || !strings.Contains(s.Outcome.Error, "workspace") {
			t.Errorf("%s: the outcome is %v", name, s.Outcome)
		}
	}
}

func TestCancelWhileReadingFiles(t *testing.T) {
	s := replayFacts(reading(Tool{Name: "read", ReadOnly: true}), Cancelled{})
	if messages := s.History.Messages(); s.Phase != PhaseFailed || len(messages) != 1 || messages[0].Speaker != User {
		t.Errorf("the history is %v", messages)
	}
}
