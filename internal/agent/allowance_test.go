// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Invariant 11.
func allowancesAreBounded(t *rapid.T) func(step) {
	return func(s step) {
		for _, e := range s.effects {
			if send, ok := e.(SendItem); ok && send.Item.Kind == ItemDecision {
				checkDecision(t, s, send.Item)
			}
		}
		for _, ask := range s.after.Asks {
			covering, covered := s.after.allowanceFor(ask.Asked)
			if ask.Open && covered {
				t.Fatalf("%+v waits although %+v covers it", ask, covering)
			}
		}
		if len(s.after.Allowances) > MaxAllowances || len(s.after.Allowances) > 0 && s.after.Config.Kind != Orchestrator {
			t.Fatalf("%d allowances of a %s", len(s.after.Allowances), s.after.Config.Kind)
		}
	}
}

// checkDecision implements the rules for the arguments of askedArguments a second time.
func checkDecision(t *rapid.T, s step, item Item) {
	i := slices.IndexFunc(s.after.Asks, func(a Ask) bool { return a.Agent == item.Agent && a.Call == item.Call })
	a := slices.IndexFunc(s.after.Allowances, func(a Allowance) bool { return a.Name == item.Allowance })
	if i < 0 || a < 0 {
		t.Fatalf("%v is for no ask, or by no allowance", item)
	}
	ask, allowance := s.after.Asks[i], s.after.Allowances[a]
	if ask.Kind != AskApproval || ask.DenyRequesters || ask.Open || allowance.Tool != ask.Tool || allowance.User != item.User || item.Digest != ask.Digest() {
		t.Fatalf("%v approves %+v by %+v", item, ask, allowance)
	}
	if len(allowance.Arguments) == 0 {
		return
	}
	matches := map[string][]string{"docs/*": {`{"path":"docs/a"}`}, "docs/a": {`{"path":"docs/a"}`}, "*": {`{"path":"docs/a"}`, `{"path":"secret"}`}}
	if pattern := allowance.Arguments[0].Pattern; !slices.Contains(matches[pattern], ask.Arguments) {
		t.Fatalf("%s matches %s", pattern, ask.Arguments)
	}
}

func TestAllowancesAreBounded(t *testing.T) {
	s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: Config{Kind: Orchestrator, Name: "chat", MaxDepth: 2}}})
	for i := range MaxAllowances + 1 {
		s, _ = Step(s, Event{At: 2, Fact: Allowed{Message: "m" + strconv.Itoa(i), Tool: "bash", User: "alice"}})
	}
	if len(s.Allowances) != MaxAllowances || s.HasHandled("m"+strconv.Itoa(MaxAllowances)) {
		t.Errorf("%d allowances, the last message handled: %t", len(s.Allowances), s.HasHandled("m"+strconv.Itoa(MaxAllowances)))
	}
}
