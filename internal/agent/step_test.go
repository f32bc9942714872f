// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func stepReturnsAddedOutstandingEffects(t *rapid.T) func(step) {
	return func(s step) {
		outstanding := Outstanding(s.after)
		keys := map[string]bool{}
		for _, e := range outstanding {
			if keys[e.Key()] {
				t.Fatalf("%s is outstanding twice", e.Key())
			}
			keys[e.Key()] = true
		}
		if want := addedEffects(Outstanding(s.before), outstanding); !slices.Equal(keysOf(want), keysOf(s.effects)) {
			t.Fatalf("the step returned %v, want the added effects %v", s.effects, want)
		}
	}
}

func stepDoesNotModifyInput(t *rapid.T, sim *simulation) {
	before := encode(sim.state)
	given, count := sim.state, len(sim.events)
	for range 10 {
		sim.next()
	}
	if encode(given) != before {
		t.Fatal("later steps modified an earlier state")
	}
	after := encode(sim.state)
	Replay(given, rapid.Permutation(sim.events[count:]).Draw(t, "another continuation")) // as forks of the same run do
	if encode(sim.state) != after {
		t.Fatal("another continuation of an earlier state modified this one")
	}
}

func unchangedSinceDetectsChanges(t *rapid.T) func(step) {
	return func(s step) {
		if s.after.UnchangedSince(s.before) && withoutClock(s.after) != withoutClock(s.before) {
			t.Fatalf("%v changed a state, but Same reports no change", s.event)
		}
		if !s.after.UnchangedSince(s.before) && len(s.effects) == 0 && s.before.Phase.Terminal() {
			t.Fatal("Same reports a change of an agent that has ended")
		}
	}
}

func TestEventsBeforeStartedAreIgnored(t *testing.T) {
	for _, e := range everyFact() {
		switch e.Fact.(type) {
		case Started, Quarantined: // the first event may be the unreadable one
			continue
		}
		if s, effects := Step(State{}, e); len(effects) > 0 || encode(s) != encode(State{}) {
			t.Errorf("%v changed an agent that has not started", e)
		}
	}
}

func keysOf(effects []Effect) []string {
	keys := make([]string, len(effects))
	for i, e := range effects {
		keys[i] = e.Key()
	}
	return keys
}

func encode(s State) string { return toJSON(s) }

func promptFrameMatchesConfig(t *rapid.T) func(step) {
	return func(s step) {
		if carried := s.after.frame; carried != nil && !reflect.DeepEqual(carried, newFrame(s.after.Config)) {
			t.Fatalf("after %v the state contains the frame of another configuration", s.event)
		}
		if kind := s.after.Config.Kind; (kind == SubAgent || kind == Orchestrator) && s.after.frame == nil && s.after.Outcome == nil {
			t.Fatalf("after %v the state contains no frame", s.event)
		}
	}
}

func promptGrowthEqualsBuildPrompt(t *rapid.T) func(step) {
	var history History
	var summary string
	var messages []Message
	return func(s step) {
		if s.after.ModelCall == nil || !s.after.ModelCall.Purpose.converses() {
			return
		}
		whole := BuildPrompt(s.after)
		if added, ok := PromptGrowth(s.after, history, summary); ok {
			grown := PromptHead(s.after)
			if grown.Messages = append(slices.Clone(messages), added...); !reflect.DeepEqual(grown, whole) {
				t.Fatalf("after %v the prompt grew to\n%+v\nbut BuildPrompt returns\n%+v", s.event, grown, whole)
			}
		}
		history, summary, messages = s.after.History, s.after.Summary, whole.Messages
	}
}
