// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"strings"
	"testing"
)

// The tests below cover cases that random sequences reach too rarely.

func oddSubAgent() Config {
	return Config{
		Kind: SubAgent, Name: "a", Depth: 1, MaxDepth: 2, Role: Role{Name: "worker", Allow: []string{"*"}, Approval: ApproveNever},
		Delegates: []Delegate{{Name: "general"}, {Name: "search", AsTool: &AsTool{Name: "Search"}}},
		Tools:     []Tool{{Name: "write"}, {Name: "read", ReadOnly: true}},
	}
}

func oddOrchestrator() Config {
	c := oddSubAgent()
	c.Kind, c.Name, c.Depth = Orchestrator, "chat", 0
	c.AutoAnswer = AutoAnswer{Enabled: true, MinConfidence: 70, MaxPerQuestion: 2}
	return c
}

// tell applies facts one millisecond apart.
func tell(s State, facts ...Fact) State {
	for _, f := range facts {
		s = Replay(s, []Event{{At: s.Clock.Now + 1, Fact: f}})
	}
	return s
}

func calls(tool, arguments string) []CallRequest {
	return []CallRequest{{ID: tool, Tool: tool, Arguments: arguments}}
}

func TestTellingAgainHowThingsStandIsNoChange(t *testing.T) {
	s := tell(State{}, Started{Config: oddSubAgent()}, ModelReplied{Call: "m1", Calls: calls(ToolDelegate, `{"role":"general","task":"x"}`)},
		ChildWaits{Child: "a-1", Waiting: true}, Cancelled{})
	for _, f := range []Fact{ChildWaits{Child: "a-1", Waiting: true}, Cancelled{}} {
		if next := tell(s, f); !next.Same(s) {
			t.Errorf("repeating %+v changed the state", f)
		}
	}
	chat := tell(State{}, Started{Config: oddOrchestrator()}, MessageArrived{Message: "m", Text: "x"}, Cancelled{})
	if next := tell(chat, Cancelled{}); !next.Same(chat) {
		t.Error("cancelling an idle chat changed it")
	}
}

func TestAToolThatFinishesAtItsDeadlineHasFinished(t *testing.T) {
	c := oddSubAgent()
	c.Kind, c.Call, c.Limits.MaxDuration = ToolRun, &PlannedCall{Tool: "write"}, 10_000
	s := Replay(State{}, []Event{{At: 1, Fact: Started{Config: c}}, {At: 10_001, Fact: ToolFinished{Call: "a", Outcome: ToolSucceeded, Text: "done"}}})
	if s.Phase != PhaseCompleted {
		t.Errorf("ended as %s: %v", s.Phase, s.Outcome)
	}
}

func TestAnOrchestratorsOwnQuestionIsAskedBesideAnAgents(t *testing.T) {
	s := tell(State{}, Started{Config: oddOrchestrator()}, MessageArrived{Message: "m1", Text: "hi"}, MessageArrived{Message: "m2", Text: "Deploy."},
		Asked{Agent: "chat-1", Task: "chat-1", Call: "q", Kind: AskQuestion, Text: "Which colour?"}, ModelReplied{Call: "m1", Text: "ok"},
		ModelReplied{Call: "m2", Calls: calls(ToolAskUser, `{"question":"To which cluster?"}`)})
	var posts []string
	for _, item := range s.Outbox {
		posts = append(posts, item.Text)
	}
	for _, want := range []string{"To which cluster?", "Which colour?"} {
		if !strings.Contains(strings.Join(posts, "\n"), want) {
			t.Errorf("the question %q was not posted: %q", want, posts)
		}
	}
}

func TestAnAgentThatHasEndedAsksNothing(t *testing.T) {
	question := Asked{Agent: "chat-1", Task: "chat-1", Call: "q", Kind: AskQuestion, Text: "?"}
	s := tell(State{}, Started{Config: oddOrchestrator()}, MessageArrived{Message: "m", Text: "hi"},
		ModelReplied{Call: "m1", Calls: calls(ToolDelegate, `{"role":"general","task":"x"}`)}, ModelReplied{Call: "m2", Text: "started"},
		question, ChildFinished{Child: "chat-1", Outcome: Outcome{Kind: KindCancelled}}, question)
	if len(s.Asks) > 0 {
		t.Errorf("there is an open ask: %+v", s.Asks)
	}
}

func TestInstructionsStayWithinTheAPI(t *testing.T) {
	long := strings.Repeat("x", maxTaskText+1)
	s := tell(State{}, Started{Config: oddSubAgent()}, ModelReplied{Call: "m1", Calls: calls("Search", `{"task":"`+long+`"}`)})
	if s.Children.Started > 0 {
		t.Error("a role used as a tool was started with an instruction that the API refuses")
	}
	chat := tell(State{}, Started{Config: oddOrchestrator()}, MessageArrived{Message: "m", Text: "hi"},
		ModelReplied{Call: "m1", Calls: calls(ToolDelegate, `{"role":"general","task":"x"}`)}, ModelReplied{Call: "m2", Text: "started"},
		ChildFinished{Child: "chat-1", Outcome: Outcome{Result: &Result{Text: "r"}}},
		ModelReplied{Call: "m3", Calls: calls(ToolContinue, `{"sub_agent":"chat-1","message":"`+long+`"}`)})
	if chat.Children.Started > 1 {
		t.Error("an agent was continued with a message that the API refuses")
	}
}

func TestKeysOfToolCallsAreUniqueForALifetime(t *testing.T) {
	keys := map[string]bool{}
	s := tell(State{}, Started{Config: oddSubAgent()})
	for i := range recentSize + 100 {
		request := CallRequest{ID: fmt.Sprintf("call_%d", i%(recentSize+10)), Tool: "read", Arguments: fmt.Sprintf(`{"n":%d}`, i)}
		s = tell(s, ModelReplied{Call: s.Request.ID, Calls: []CallRequest{request}})
		for _, e := range Outstanding(s) {
			run, ok := e.(RunTool)
			if !ok {
				continue
			}
			if keys[run.Key()] {
				t.Fatalf("call %d reuses the key %s", i, run.Key())
			}
			keys[run.Key()] = true
			s = tell(s, ToolFinished{Call: run.Call, Outcome: ToolSucceeded, Text: fmt.Sprint(i)})
		}
	}
}

func TestAContinuedHistoryHasEveryIDOnce(t *testing.T) {
	earlier := tell(State{}, Started{Config: oddSubAgent()}, ModelReplied{Call: "m1", Calls: []CallRequest{{Tool: "read", Arguments: "{}"}}},
		ToolFinished{Call: "m1-1", Outcome: ToolSucceeded, Text: "x"})
	s := tell(State{}, Started{Config: oddSubAgent(), History: earlier.History.Messages()},
		ModelReplied{Call: "m1", Calls: []CallRequest{{Tool: "read", Arguments: "{}"}}})
	seen := map[string]bool{}
	for _, m := range s.History.Messages() {
		for _, c := range m.Calls {
			if seen[c.ID] {
				t.Errorf("the history contains the id %s twice", c.ID)
			}
			seen[c.ID] = true
		}
	}
}

func TestACallOfUnknownCostIsNotFree(t *testing.T) {
	c := oddSubAgent()
	c.Limits.MaxCostMicros, c.Limits.MaxOutputTokens, c.Price = 10_000, 100, &Price{Input: 1_000_000, Output: 1_000_000}
	s := tell(State{}, Started{Config: c})
	for i := 0; i < 50 && s.Phase == PhaseRequesting; i++ {
		id := fmt.Sprint("c", i)
		s = tell(s, ModelReplied{Call: s.Request.ID, Usage: Usage{PromptTokens: 4000}, Calls: []CallRequest{{ID: id, Tool: "read", Arguments: fmt.Sprintf(`{"n":%d}`, i)}}},
			ToolFinished{Call: id, Outcome: ToolSucceeded, Text: id})
	}
	if s.Phase != PhaseFailed || s.Outcome.Kind != KindBudgetExhausted {
		t.Errorf("%s after %d calls of unknown cost", s.Phase, s.Iterations)
	}
}

func TestAReservationCoversThePrompt(t *testing.T) {
	c := oddSubAgent()
	c.Task.Instruction = strings.Repeat("word ", 6000)
	s := tell(State{}, Started{Config: c})
	p := BuildPrompt(s)
	size := len(p.System)
	for _, m := range p.Messages {
		size += len(m.Text)
	}
	for _, tool := range p.Tools {
		size += len(tool.Name) + len(tool.Description) + len(tool.Parameters)
	}
	if s.Request.Reserved.Tokens < int64(size/4) {
		t.Errorf("reserved %d tokens for a prompt of %d bytes", s.Request.Reserved.Tokens, size)
	}
}

func TestABlankReplyIsAnEmptyOne(t *testing.T) {
	chat := tell(State{}, Started{Config: oddOrchestrator()}, MessageArrived{Message: "m", Text: "hi"}, ModelReplied{Call: "m1", Text: " \n"})
	for _, item := range chat.Outbox {
		if item.Kind == ItemPost {
			t.Errorf("posted %q", item.Text)
		}
	}
	if s := tell(State{}, Started{Config: oddSubAgent()}, ModelReplied{Call: "m1", Text: " \n"}); s.Phase == PhaseCompleted {
		t.Error("a blank reply completed the work")
	}
}

func TestARoleWithoutASchemaTakesATask(t *testing.T) {
	for _, tool := range Tools(oddSubAgent()) {
		if tool.Name == "Search" && !strings.Contains(string(tool.Parameters), `"task"`) {
			t.Errorf("its parameters are %s", tool.Parameters)
		}
	}
}

func TestHalfIsKeptWhereTheContextIsNotKnown(t *testing.T) {
	c := oddSubAgent()
	history := make([]Message, 20)
	for i := range history {
		history[i] = Message{Speaker: User, Text: "some text"}
	}
	s := tell(State{}, Started{Config: c, History: history}, ModelFailed{Call: "m1", Attempt: 1, Failure: FailureContext})
	if s.Request == nil || s.Request.Purpose != PurposeCompact || s.Request.Keep < 8 {
		t.Errorf("kept %+v of 21 messages, want about half", s.Request)
	}
}

// The reply arrives when the time limit is already reached. Waiting for the approval does not count, but the approved call does.
func TestACallThatIsReleasedAfterTheTimeIsUpIsNotMade(t *testing.T) {
	c := oddSubAgent()
	c.Role.Approval, c.Limits.MaxDuration = "", 1000
	c.Limits.MaxIterations = 5
	asks := append(calls("write", `{}`), calls(ToolAskUser, `{"question":"Why?"}`)...)
	s := Replay(State{}, []Event{{At: 1, Fact: Started{Config: c}}, {At: 5001, Fact: ModelReplied{Call: "m1", Calls: asks}}})
	if !s.WaitsForPerson() {
		t.Fatalf("standing is %s, want waiting for a person", s.Phase)
	}
	for _, e := range Outstanding(s) {
		if ask, ok := e.(AskPerson); ok && ask.Kind == AskApproval {
			s = tell(s, Decided{Call: ask.Call, Approve: true})
		}
	}
	for _, e := range Outstanding(s) {
		if _, ok := e.(RunTool); ok {
			t.Errorf("%v runs after the time limit", e)
		}
	}
	if s.Bailout == nil || s.Bailout.Kind != KindTimedOut {
		t.Errorf("phase %s with the outcome %+v, want a timeout", s.Phase, s.Bailout)
	}
}
