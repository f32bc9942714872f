// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

// drawReconfigured draws a configuration change. Limits are only raised, because the usage may already exceed a lower limit.
func (sim *simulation) drawReconfigured() Fact {
	t := sim.t
	if rapid.IntRange(0, 9).Draw(t, "hold") == 0 {
		return Reconfigured{Hold: &Hold{Generation: sim.state.LatestGeneration() + 1, Reason: "RoleNotFound", Message: "Create it."}}
	}
	config := sim.state.LatestConfig()
	config.Generation = sim.state.LatestGeneration() + 1
	if config.Limits.MaxTokens > 0 {
		config.Limits.MaxTokens += rapid.Int64Range(0, 50_000).Draw(t, "more tokens")
	}
	config.Limits.MaxIterations += rapid.IntRange(0, 2).Draw(t, "more iterations")
	return Reconfigured{Config: &config}
}

func chatWith(limit int64) Config {
	return Config{Kind: Orchestrator, Name: "chat", MaxDepth: 2, Role: Role{Name: "orchestrator"}, Model: "small", Provider: "a/default", Generation: 1,
		Limits: Limits{MaxTokens: limit, MaxIterations: 5, MaxOutputTokens: 100}}
}

func replayFacts(s State, facts ...Fact) State {
	for _, f := range facts {
		s, _ = Step(s, Event{At: s.Clock.Now + 1, Fact: f})
	}
	return s
}

func edited(s State, how func(*Config)) Reconfigured {
	config := s.Config
	config.Generation++
	how(&config)
	return Reconfigured{Config: &config}
}

func TestReconfigurationAppliesNextTurn(t *testing.T) {
	s := replayFacts(State{}, Started{Config: chatWith(0)}, MessageArrived{Message: "hello", Text: "Hello!"})
	edit := edited(s, func(c *Config) { c.Model, c.Kind, c.Name = "large", SubAgent, "usurper" })
	s = replayFacts(s, edit)
	if s.Config.Model != "small" || s.LatestGeneration() != 2 || s.ObservedGeneration() != 1 {
		t.Fatalf("during a turn: model %s, generation %d, observed %d", s.Config.Model, s.LatestGeneration(), s.ObservedGeneration())
	}
	if again := replayFacts(s, edit); again.ConfigEdits != s.ConfigEdits || !again.UnchangedSince(s) {
		t.Error("the same change counts twice")
	}
	s = replayFacts(s, ModelReplied{Call: "m1", Text: "Hello."})
	if s.Config.Model != "large" || s.Config.Kind != Orchestrator || s.Config.Name != "chat" || s.NextConfig != nil || s.ObservedGeneration() != 2 {
		t.Errorf("after the turn: %+v", s.Config)
	}
	s = replayFacts(s, edited(s, func(c *Config) { c.Model = "huge" }))
	if s.Config.Model != "huge" || s.LatestGeneration() != 3 {
		t.Errorf("between turns: model %s, generation %d", s.Config.Model, s.LatestGeneration())
	}
	if late := replayFacts(s, edit); late.Config.Model != "huge" {
		t.Error("an outdated change replaced a newer one")
	}
}

func TestMissingReferenceHoldsNextTurn(t *testing.T) {
	s := replayFacts(State{}, Started{Config: chatWith(0)})
	s = replayFacts(s, Reconfigured{Hold: &Hold{Generation: 2, Reason: "RoleNotFound", Message: "Create it."}}, MessageArrived{Message: "hello", Text: "Hello!"})
	if s.Phase != PhaseIdle || len(s.Inbox) != 1 || s.ObservedGeneration() != 2 {
		t.Fatalf("the turn was not held: %s", s)
	}
	s = replayFacts(s, edited(s, func(c *Config) { c.Model = "large" }))
	if s.Phase != PhaseRequesting || s.Config.Model != "large" || s.Hold != nil {
		t.Errorf("the turn did not begin: %s", s)
	}
}

func TestRaisedBudgetResumesWork(t *testing.T) {
	s := replayFacts(State{}, Started{Config: chatWith(300)}, MessageArrived{Message: "hello", Text: "Hello!"})
	s = replayFacts(s, ModelReplied{Call: "m1", Calls: []ToolCall{{ID: "c", Tool: "nothing"}}, Usage: budget.Usage{PromptTokens: 200}})
	if s.TurnFailure == nil || s.TurnFailure.Kind != ErrorBudgetExhausted {
		t.Fatalf("the budget is not exhausted: %s", s)
	}
	posts := s.Posts
	s = replayFacts(s, edited(s, func(c *Config) { c.AutoAnswer.Enabled = true }))
	if s.Phase != PhaseIdle || s.Posts != posts {
		t.Fatalf("an unrelated change resumed the work: %s", s)
	}
	s = replayFacts(s, edited(s, func(c *Config) { c.Limits.MaxTokens = 10_000 }))
	if s.Phase != PhaseRequesting || s.TurnFailure != nil || s.Turn.InReplyTo != "hello" {
		t.Fatalf("the work did not resume: %s", s)
	}
	messages := BuildPrompt(s).Messages
	if last := messages[len(messages)-1].Text; !strings.Contains(last, "It has been raised") {
		t.Errorf("the prompt contains %q", last)
	}
}

func TestSubAgentsIgnoreReconfiguration(t *testing.T) {
	s := replayFacts(State{}, Started{Config: Config{Kind: SubAgent, Name: "a-1", Depth: 1, MaxDepth: 2, Model: "small"}})
	if after := replayFacts(s, edited(s, func(c *Config) { c.Model = "large" })); after.Config.Model != "small" || !after.UnchangedSince(s) {
		t.Error("a sub-agent was reconfigured")
	}
}
