// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "testing"

// If the ledger is lost, the status of its object is all that is left of a tool run: it must say that the run has begun before the
// tool does anything that must not be done twice.
func TestAToolThatMustNotRunTwiceWaitsUntilItsTaskShowsThatItBegan(t *testing.T) {
	started := Started{Config: Config{Kind: ToolRun, Name: "task", AwaitShown: true, Call: &PlannedCall{Tool: "write"},
		Role: Role{Allow: []string{"*"}, Approval: ApproveNever}, Tools: []Tool{{Name: "write"}}}}
	state, effects := Step(State{}, Event{At: 1000, Fact: started})
	if len(effects) != 0 || !state.AwaitsShown() || state.Standing() != StandingActive {
		t.Fatalf("it stands at %s with the effects %v", state.Standing(), effects)
	}
	shown, effects := Step(state, Event{At: 2000, Fact: Shown{}})
	if len(effects) != 1 || effects[0].Key() != (RunTool{Call: "task"}).Key() || shown.AwaitsShown() {
		t.Errorf("when it is shown it has the effects %v", effects)
	}
	if state.Same(shown) {
		t.Error("that it is shown makes no difference")
	}
	if again, effects := Step(shown, Event{At: 3000, Fact: Shown{}}); len(effects) != 0 || !again.Same(shown) {
		t.Errorf("shown once more it has the effects %v", effects)
	}
	if cancelled, _ := Step(state, Event{At: 2000, Fact: Cancelled{}}); cancelled.Phase != PhaseFailed || cancelled.AwaitsShown() {
		t.Errorf("cancelled before it is shown it is %s", cancelled.Phase)
	}
}

func TestTheNamesOfANewConversationAreOthers(t *testing.T) {
	state := State{Config: Config{Kind: Orchestrator, Name: "chat"}}
	if name := state.post(Item{Text: "hello"}).Outbox[0].PostName("chat"); name != "chat-post-1" {
		t.Errorf("the first post of a chat is %s", name)
	}
	state.Config.Conversation = "x7k2p"
	if name := state.post(Item{Text: "hello"}).Outbox[0].PostName("chat"); name != "chat-x7k2p-post-1" {
		t.Errorf("the first post of its next conversation is %s", name)
	}
	if name := childName(state.Config.nameBase(), 3); name != "chat-x7k2p-3" {
		t.Errorf("the third child of its next conversation is %s", name)
	}
}
