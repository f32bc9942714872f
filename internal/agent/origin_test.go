// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "testing"

func callResearcher(id string) ToolCall {
	return ToolCall{ID: id, Tool: ToolDelegate, Arguments: `{"role":"researcher","task":"look"}`}
}

// Delegated work and its results keep the thread of the person's message across turns.
func TestOriginIsThePersonsMessage(t *testing.T) {
	chat := Config{Kind: Orchestrator, Name: "chat", MaxDepth: 2, Delegates: []Delegate{{Name: "researcher"}}}
	s := Replay(State{}, []Event{
		{At: 1, Fact: Started{Config: chat}},
		{At: 2, Fact: MessageArrived{Message: "first", Text: "look"}},
		{At: 3, Fact: ModelReplied{Call: "m1", Calls: []ToolCall{callResearcher("c1")}}},
		{At: 4, Fact: ModelReplied{Call: "m2", Text: "I do."}},
	})
	if got, want := s.ChildOrigin("chat-1"), (Origin{Thread: "first", ModelCall: "m1", Call: "c1", Attempt: 1}); got != want {
		t.Errorf("the origin of the child is %+v, want %+v", got, want)
	}
	if s.Turn.Number != 1 || s.Turn.StartTime != 2 || s.Turn.Continues {
		t.Errorf("the first turn is %+v", s.Turn)
	}
	s = Replay(s, []Event{{At: 5, Fact: ChildFinished{Child: "chat-1", Outcome: Outcome{Result: &Result{Text: "found"}}}}})
	if s.Turn.Number != 2 || s.Turn.StartTime != 5 || s.Thread() != "first" || !s.Turn.Continues {
		t.Errorf("the turn with the results is %+v", s.Turn)
	}
	s = Replay(s, []Event{{At: 6, Fact: ModelReplied{Call: "m3", Calls: []ToolCall{callResearcher("c2")}}}})
	if got := s.ChildOrigin("chat-2").Thread; got != "first" {
		t.Errorf("the thread of work that the results led to is %q", got)
	}
	s = Replay(s, []Event{
		{At: 7, Fact: MessageArrived{Message: "second", Text: "and?"}},
		{At: 8, Fact: ModelReplied{Call: "m4", Text: "soon"}},
	})
	if s.Turn.Number != 3 || s.Thread() != "second" || s.Turn.Continues {
		t.Errorf("the turn with the second message is %+v", s.Turn)
	}
	if got := s.ChildOrigin("nobody"); got != (Origin{}) {
		t.Errorf("the origin of an unknown child is %+v", got)
	}
}

// A question has the thread of its agent's work at any depth. A question of an unknown agent is its own thread.
func TestQuestionHasAgentThread(t *testing.T) {
	chat := Config{Kind: Orchestrator, Name: "chat", MaxDepth: 2, Delegates: []Delegate{{Name: "researcher"}}, AutoAnswer: AutoAnswer{Enabled: true, MaxPerQuestion: 2}}
	s := Replay(State{}, []Event{
		{At: 1, Fact: Started{Config: chat}},
		{At: 2, Fact: MessageArrived{Message: "first", Text: "look"}},
		{At: 3, Fact: ModelReplied{Call: "m1", Calls: []ToolCall{callResearcher("c1")}}},
		{At: 4, Fact: ModelReplied{Call: "m2", Text: "I do."}},
	})
	for name, want := range map[string]string{"chat-1": "first", "chat-1-3": "first", "chat-12": "turn/2"} {
		asked := Replay(s, []Event{{At: 5, Fact: Asked{Agent: name, Task: name, Call: "q", Kind: AskQuestion, Text: "which?"}}})
		if got := asked.Thread(); got != want || asked.Turn.Number != 2 {
			t.Errorf("the thread of a question of %s is %q, want %q", name, got, want)
		}
	}
}
