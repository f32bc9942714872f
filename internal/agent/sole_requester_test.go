// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "testing"

// A person's credentials serve only work that the person alone requested, and none of a trigger.
func TestSoleRequester(t *testing.T) {
	for name, c := range map[string]struct {
		messages []MessageArrived
		want     string
	}{
		"one person":            {[]MessageArrived{{User: "alice"}, {User: "alice"}}, "alice"},
		"two people":            {[]MessageArrived{{User: "alice"}, {User: "bob"}}, ""},
		"an unnamed author":     {[]MessageArrived{{User: "alice"}, {Unnamed: true}}, ""},
		"a trigger":             {[]MessageArrived{{User: "alice", Trigger: true}}, ""},
		"a person, then not":    {[]MessageArrived{{User: "alice"}, {User: "alice", Trigger: true}, {User: "alice"}}, ""},
		"a person who fires it": {[]MessageArrived{{User: "alice", FireUser: "alice", Trigger: true}}, ""},
		"no one":                {nil, ""},
	} {
		s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: Config{Kind: Orchestrator, Name: "chat"}}})
		for i, m := range c.messages {
			m.Message, m.Text = string(rune('a'+i)), "hello"
			s, _ = Step(s, Event{At: Time(i + 2), Fact: m})
		}
		if got, ok := s.Requesters.Sole(); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: the sole requester is %q", name, got)
		}
		if merged := (Requesters{}).With("alice").Merge(s.Requesters); merged.Trigger != s.Requesters.Trigger {
			t.Errorf("%s: the trigger is lost", name)
		}
	}
}
