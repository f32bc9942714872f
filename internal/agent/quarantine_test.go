// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

// Quarantine ends an agent in every state. The only remaining effect is reporting to its parent.
func quarantineEndsTheAgent(t *rapid.T, sim *simulation) {
	before := sim.state
	f := Quarantined{Kind: before.Config.Kind, Name: before.Config.Name, Event: 7, Type: "ModelReplied", Reason: "it is damaged", Usage: budget.Usage{PromptTokens: 5, ModelCalls: 1}, ModelCalls: 99}
	s, effects := Step(before, Event{At: before.Clock.Now + 1, Fact: f})
	if len(effects) > 0 {
		t.Fatalf("Quarantined led to the effects %v", effects)
	}
	if before.Phase.Terminal() {
		if !s.UnchangedSince(before) {
			t.Fatal("Quarantined changed an agent that has ended")
		}
		return
	}
	if s.Usage.Total() < max(5, before.Usage.Total()) || s.Budget.Used.Tokens < before.Budget.Used.Tokens {
		t.Fatalf("the usage %v was lost: %v", before.Usage, s.Usage)
	}
	if before.Config.Kind == Orchestrator {
		if s.Phase != PhaseNew || s.HistoryLoss == nil || !strings.Contains(s.HistoryLoss.Reason, "Event 7 (ModelReplied)") || len(Outstanding(s)) > 0 {
			t.Fatalf("a quarantined orchestrator is %v with %v", s, Outstanding(s))
		}
		return
	}
	if s.Phase != PhaseFailed || s.Outcome.Kind != ErrorHistoryLost || !strings.Contains(s.Outcome.Error, "Event 7 (ModelReplied)") || s.Children.Pending() != 0 {
		t.Fatalf("a quarantined agent is %v: %v", s, s.Outcome)
	}
	for _, e := range Outstanding(s) {
		if _, ok := e.(ReportOutcome); !ok {
			t.Fatalf("a quarantined agent has the effects %v", e)
		}
	}
}

func TestRestartKeepsUsageAndIDs(t *testing.T) {
	config := Config{Kind: Orchestrator, Name: "chat", Limits: Limits{MaxIterations: 5, MaxTokens: 2000, MaxOutputTokens: 10}}
	s := replayFacts(State{}, Started{Config: config}, MessageArrived{Message: "a", Text: "Hello"},
		Quarantined{Kind: Orchestrator, Name: "chat", Event: 3, Type: "ModelReplied", Reason: "x", Usage: budget.Usage{PromptTokens: 400, ModelCalls: 2}, ModelCalls: 3},
		MessageArrived{Message: "b", Text: "Who hears this?"})
	if s.Phase != PhaseNew || len(s.Inbox) > 0 {
		t.Fatalf("an orchestrator without history accepts messages: %v", s)
	}
	s = replayFacts(s, Started{Config: config}, MessageArrived{Message: "c", Text: "Hello again"})
	if s.HistoryLoss != nil || s.ModelCall == nil || s.ModelCall.ID != "m4" {
		t.Fatalf("the new conversation is %v with the model call %v", s, s.ModelCall)
	}
	if s.Usage.Total() != 400 || s.Budget.Used.Tokens != 400 {
		t.Errorf("the new conversation has used %v (%v)", s.Usage, s.Budget.Used)
	}
}

func TestUnreadableEventLeavesStateUnchanged(t *testing.T) {
	s := replayFacts(State{}, Started{Config: Config{Kind: Orchestrator, Name: "chat"}})
	for name, data := range map[string]string{
		"no JSON": "nonsense", "no version": "{}", "an unknown type": `{"v":1,"type":"Nonsense","at":1}`, "another shape": `{"v":1,"type":"MessageArrived","fact":{"text":5}}`,
	} {
		next, _, err := DecodeAndApply(s, json.RawMessage(data))
		if err == nil || !next.UnchangedSince(s) {
			t.Errorf("%s: %v, %v", name, next, err)
		}
	}
	broken := State{Phase: PhaseCancelling} // no event leads to this state: it has no outcome
	data, err := json.Marshal(Event{Fact: Woke{}})
	if err != nil {
		t.Fatal(err)
	}
	if next, _, err := DecodeAndApply(broken, data); err == nil || !next.UnchangedSince(broken) {
		t.Errorf("the core accepted an invalid state: %v", next)
	}
}
