// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// The digest is part of the API: clients compute it from the call that they show.
func TestCallDigest(t *testing.T) {
	const want = "4bad9d163a09650223404461b918af24a1e2424b47f5f4b5899aa3551db1eb80" // printf 'bash\n{"command":"make"}' | sha256sum
	if got := CallDigest("bash", `{"command":"make"}`); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func decisionWithOtherDigestIsIgnored(t *rapid.T) func(step) {
	return func(s step) {
		for _, e := range Outstanding(s.after) {
			ask, ok := e.(AskPerson)
			if !ok || ask.Kind != AskApproval {
				continue
			}
			now := s.after.Clock.Now
			other := Decided{Call: ask.Call, Approve: true, Message: "m", Digest: CallDigest(ask.Tool, ask.Arguments+" ")}
			next, effects := Step(s.after, Event{At: now, Fact: other})
			if len(effects) > 0 || !next.UnchangedSince(s.after) || next.HasHandled("m") {
				t.Fatalf("a decision about other arguments changed %v: %v", ask, effects)
			}
			next, _ = Step(s.after, Event{At: now, Fact: Decided{Call: ask.Call, Message: "m", Digest: ask.Digest(), User: "bob", Requesters: Requesters{Users: []string{"alice"}}}})
			if !next.HasHandled("m") && !next.Phase.Terminal() {
				t.Fatalf("the decision about %v had no effect", ask)
			}
		}
	}
}

// After a restart the operator reads the call of a tool run from the ledger. Its digest must be the one that was shown to the
// person.
func TestToolRunDigestSurvivesEncoding(t *testing.T) {
	config := Config{Kind: ToolRun, Name: "chat-1", MaxDepth: 2, Tools: []Tool{{Name: "bash"}}, Role: Role{Allow: []string{"*"}},
		ToolCall: &ToolRunCall{Tool: "bash", Arguments: json.RawMessage(`{ "command": "a < b && c" }`)}}
	started := Event{At: 1, Fact: Started{Config: config}}
	written, err := json.Marshal(started)
	if err != nil {
		t.Fatal(err)
	}
	var read Event
	if err := json.Unmarshal(written, &read); err != nil {
		t.Fatal(err)
	}
	first, _ := Step(State{}, started)
	again, _ := Step(State{}, read)
	if a, b := first.Batch[0].Arguments, again.Batch[0].Arguments; a != b {
		t.Errorf("the arguments are %s before encoding and %s after", a, b)
	}
}
