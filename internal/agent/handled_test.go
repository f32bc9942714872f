// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "testing"

// A driver that crashes before it records that a message was delivered delivers it again. The agent must report the message as
// handled, even if it now waits for something else or has ended.
func TestDecidingMessageIsHandledOnce(t *testing.T) {
	config := Config{Kind: SubAgent, Name: "a", Depth: 1, MaxDepth: 2, Role: Role{Allow: []string{"*"}}, Tools: []Tool{{Name: "bash"}}}
	s := Replay(State{}, []Event{
		{At: 1, Fact: Started{Config: config}},
		{At: 2, Fact: ModelReplied{Call: "m1", Calls: []ToolCall{
			{ID: "c1", Tool: "bash", Arguments: "{}"}, {ID: "c2", Tool: "ask_user", Arguments: `{"question":"Which?"}`},
		}}},
		{At: 3, Fact: Decided{Call: "c1", Message: "no"}},
		{At: 4, Fact: Answered{Call: "c2", Text: "This one.", Message: "this-one"}},
		{At: 5, Fact: Answered{Call: "c2", Text: "That one.", Message: "that-one"}},
		{At: 6, Fact: ModelReplied{Call: "m2", Text: "Done."}},
	})
	if !s.Phase.Terminal() {
		t.Fatalf("the agent is %s", s.Phase)
	}
	for message, want := range map[string]bool{"no": true, "this-one": true, "that-one": false} {
		if got := s.HasHandled(message); got != want {
			t.Errorf("Heard(%s) = %v", message, got)
		}
	}
}
