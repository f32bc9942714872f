// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "testing"

// If the ledger is lost, the status of a tool run's object is all that remains of it. The status must show that the run has
// started before the tool does anything that must not happen twice.
func TestToolWaitsForPublishedStart(t *testing.T) {
	started := Started{Config: Config{Kind: ToolRun, Name: "task", WaitForStartPublished: true, ToolCall: &ToolRunCall{Tool: "write"},
		Role: Role{Allow: []string{"*"}, Approval: ApproveNever}, Tools: []Tool{{Name: "write"}}}}
	state, effects := Step(State{}, Event{At: 1000, Fact: started})
	if len(effects) != 0 || !state.WaitsForStartPublished() || state.Stage() != StageActive {
		t.Fatalf("standing is %s with the effects %v", state.Stage(), effects)
	}
	shown, effects := Step(state, Event{At: 2000, Fact: StartPublished{}})
	if len(effects) != 1 || effects[0].Key() != (RunTool{Call: "task"}).Key() || shown.WaitsForStartPublished() {
		t.Errorf("after Shown the effects are %v", effects)
	}
	if state.UnchangedSince(shown) {
		t.Error("Shown does not change the state")
	}
	if again, effects := Step(shown, Event{At: 3000, Fact: StartPublished{}}); len(effects) != 0 || !again.UnchangedSince(shown) {
		t.Errorf("after a repeated Shown the effects are %v", effects)
	}
	if cancelled, _ := Step(state, Event{At: 2000, Fact: Cancelled{}}); cancelled.Phase != PhaseFailed || cancelled.WaitsForStartPublished() {
		t.Errorf("cancelled before Shown, its phase is %s", cancelled.Phase)
	}
}

func TestNewConversationUsesNewNames(t *testing.T) {
	state := State{Config: Config{Kind: Orchestrator, Name: "chat"}}
	if name := state.post(Item{Text: "hello"}).Outbox[0].PostName("chat"); name != "chat-post-1" {
		t.Errorf("the first post of a chat is %s", name)
	}
	state.Config.ConversationID = "x7k2p"
	if name := state.post(Item{Text: "hello"}).Outbox[0].PostName("chat"); name != "chat-x7k2p-post-1" {
		t.Errorf("the first post of its next conversation is %s", name)
	}
	if name := childName(state.Config.nameBase(), 3); name != "chat-x7k2p-3" {
		t.Errorf("the third child of its next conversation is %s", name)
	}
}

func TestRepeatedStartPublishedChangesNothing(t *testing.T) {
	config := Config{Kind: ToolRun, Name: "run", WaitForStartPublished: true, Tools: []Tool{{Name: "read", ReadOnly: true}}, ToolCall: &ToolRunCall{Tool: "read"}}
	s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: config, Policed: true}})
	s, _ = Step(s, Event{At: 2, Fact: StartPublished{}})
	s, _ = Step(s, Event{At: 3, Fact: allowAll(Unjudged(s))})
	if again, effects := Step(s, Event{At: 4, Fact: StartPublished{}}); len(effects) != 0 || !again.UnchangedSince(s) || len(Outstanding(again)) != 1 {
		t.Errorf("after a repeated StartPublished %v is outstanding", Outstanding(again))
	}
}
