// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent/budget"
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

func applyFacts(s State, facts ...Fact) State {
	for _, f := range facts {
		s = Replay(s, []Event{{At: s.Clock.Now + 1, Fact: f}})
	}
	return s
}

func calls(tool, arguments string) []ToolCall {
	return []ToolCall{{ID: tool, Tool: tool, Arguments: arguments}}
}

func TestRepeatedLevelEventsChangeNothing(t *testing.T) {
	s := applyFacts(State{}, Started{Config: oddSubAgent()}, ModelReplied{Call: "m1", Calls: calls(ToolDelegate, `{"role":"general","task":"x"}`)},
		ChildWaits{Child: "a-1", Waiting: true}, Cancelled{})
	for _, f := range []Fact{ChildWaits{Child: "a-1", Waiting: true}, Cancelled{}} {
		if next := applyFacts(s, f); !next.UnchangedSince(s) {
			t.Errorf("repeating %+v changed the state", f)
		}
	}
	chat := applyFacts(State{}, Started{Config: oddOrchestrator()}, MessageArrived{Message: "m", Text: "x"}, Cancelled{})
	if next := applyFacts(chat, Cancelled{}); !next.UnchangedSince(chat) {
		t.Error("cancelling an idle chat changed it")
	}
}

func TestToolFinishingAtDeadlineCounts(t *testing.T) {
	c := oddSubAgent()
	c.Kind, c.ToolCall, c.Limits.MaxDuration = ToolRun, &ToolRunCall{Tool: "write"}, 10_000
	s := Replay(State{}, []Event{{At: 1, Fact: Started{Config: c}}, {At: 10_001, Fact: ToolFinished{Call: "a", Outcome: ToolSucceeded, Text: "done"}}})
	if s.Phase != PhaseCompleted {
		t.Errorf("ended as %s: %v", s.Phase, s.Outcome)
	}
}

func TestQuestionsAreBothPosted(t *testing.T) {
	s := applyFacts(State{}, Started{Config: oddOrchestrator()}, MessageArrived{Message: "m1", Text: "hi"}, MessageArrived{Message: "m2", Text: "Deploy."},
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

// A reply that was cut off is marked, and a task has the number of the posts that came before it.
func TestPostsOfATurn(t *testing.T) {
	s := applyFacts(State{}, Started{Config: oddOrchestrator()}, MessageArrived{Message: "m", Text: "hi"},
		ModelReplied{Call: "m1", Text: "I ask an agent.", Calls: calls(ToolDelegate, `{"role":"general","task":"work"}`)},
		ModelReplied{Call: "m2", Text: "It has", Finish: FinishLength})
	if len(s.Children.Live) != 1 || s.Children.Live[0].PostsBefore != 1 {
		t.Errorf("children are %+v, want one after one post", s.Children.Live)
	}
	var truncated []bool
	for _, item := range s.Outbox {
		if item.Kind == ItemPost {
			truncated = append(truncated, item.Truncated)
		}
	}
	if !slices.Equal(truncated, []bool{false, true}) {
		t.Errorf("truncated posts: %v, want the second", truncated)
	}
}

func TestAsksOfEndedAgentsAreIgnored(t *testing.T) {
	question := Asked{Agent: "chat-1", Task: "chat-1", Call: "q", Kind: AskQuestion, Text: "?"}
	s := applyFacts(State{}, Started{Config: oddOrchestrator()}, MessageArrived{Message: "m", Text: "hi"},
		ModelReplied{Call: "m1", Calls: calls(ToolDelegate, `{"role":"general","task":"x"}`)}, ModelReplied{Call: "m2", Text: "started"},
		question, ChildFinished{Child: "chat-1", Outcome: Outcome{Kind: ErrorCancelled}}, question)
	if len(s.Asks) > 0 {
		t.Errorf("there is an open ask: %+v", s.Asks)
	}
}

func TestInstructionsRespectAPILimits(t *testing.T) {
	long := strings.Repeat("x", maxTaskText+1)
	s := applyFacts(State{}, Started{Config: oddSubAgent()}, ModelReplied{Call: "m1", Calls: calls("Search", `{"task":"`+long+`"}`)})
	if s.Children.Started > 0 {
		t.Error("a role used as a tool was started with an instruction that the API refuses")
	}
	chat := applyFacts(State{}, Started{Config: oddOrchestrator()}, MessageArrived{Message: "m", Text: "hi"},
		ModelReplied{Call: "m1", Calls: calls(ToolDelegate, `{"role":"general","task":"x"}`)}, ModelReplied{Call: "m2", Text: "started"},
		ChildFinished{Child: "chat-1", Outcome: Outcome{Result: &Result{Text: "r"}}},
		ModelReplied{Call: "m3", Calls: calls(ToolContinue, `{"sub_agent":"chat-1","message":"`+long+`"}`)})
	if chat.Children.Started > 1 {
		t.Error("an agent was continued with a message that the API refuses")
	}
}

func TestToolCallKeysAreUnique(t *testing.T) {
	keys := map[string]bool{}
	s := applyFacts(State{}, Started{Config: oddSubAgent()})
	for i := range recentSize + 100 {
		request := ToolCall{ID: fmt.Sprintf("call_%d", i%(recentSize+10)), Tool: "read", Arguments: fmt.Sprintf(`{"n":%d}`, i)}
		s = applyFacts(s, ModelReplied{Call: s.ModelCall.ID, Calls: []ToolCall{request}})
		for _, e := range Outstanding(s) {
			run, ok := e.(RunTool)
			if !ok {
				continue
			}
			if keys[run.Key()] {
				t.Fatalf("call %d reuses the key %s", i, run.Key())
			}
			keys[run.Key()] = true
			s = applyFacts(s, ToolFinished{Call: run.Call, Outcome: ToolSucceeded, Text: fmt.Sprint(i)})
		}
	}
}

func TestContinuedHistoryHasUniqueIDs(t *testing.T) {
	earlier := applyFacts(State{}, Started{Config: oddSubAgent()}, ModelReplied{Call: "m1", Calls: []ToolCall{{Tool: "read", Arguments: "{}"}}},
		ToolFinished{Call: "m1-1", Outcome: ToolSucceeded, Text: "x"})
	s := applyFacts(State{}, Started{Config: oddSubAgent(), History: earlier.History.Messages()},
		ModelReplied{Call: "m1", Calls: []ToolCall{{Tool: "read", Arguments: "{}"}}})
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

func TestUnknownCostUsesReservation(t *testing.T) {
	c := oddSubAgent()
	c.Limits.MaxCostMicros, c.Limits.MaxOutputTokens, c.Price = 10_000, 100, &Price{Currency: "USD", Input: 1_000_000, Output: 1_000_000}
	s := applyFacts(State{}, Started{Config: c})
	for i := 0; i < 50 && s.Phase == PhaseRequesting; i++ {
		id := fmt.Sprint("c", i)
		s = applyFacts(s, ModelReplied{Call: s.ModelCall.ID, Usage: budget.Usage{PromptTokens: 4000}, Calls: []ToolCall{{ID: id, Tool: "read", Arguments: fmt.Sprintf(`{"n":%d}`, i)}}},
			ToolFinished{Call: id, Outcome: ToolSucceeded, Text: id})
	}
	if s.Phase != PhaseFailed || s.Outcome.Kind != ErrorBudgetExhausted {
		t.Errorf("%s after %d calls of unknown cost", s.Phase, s.Iterations)
	}
}

func TestAReservationCoversThePrompt(t *testing.T) {
	c := oddSubAgent()
	c.Task.Instruction = strings.Repeat("word ", 6000)
	s := applyFacts(State{}, Started{Config: c})
	p := BuildPrompt(s)
	size := len(p.System)
	for _, m := range p.Messages {
		size += len(m.Text)
	}
	for _, tool := range p.Tools {
		size += len(tool.Name) + len(tool.Description) + len(tool.Parameters)
	}
	if s.ModelCall.Reserved.Tokens < int64(size/4) {
		t.Errorf("reserved %d tokens for a prompt of %d bytes", s.ModelCall.Reserved.Tokens, size)
	}
}

func TestBlankReplyCountsAsEmpty(t *testing.T) {
	chat := applyFacts(State{}, Started{Config: oddOrchestrator()}, MessageArrived{Message: "m", Text: "hi"}, ModelReplied{Call: "m1", Text: " \n"})
	for _, item := range chat.Outbox {
		if item.Kind == ItemPost {
			t.Errorf("posted %q", item.Text)
		}
	}
	if s := applyFacts(State{}, Started{Config: oddSubAgent()}, ModelReplied{Call: "m1", Text: " \n"}); s.Phase == PhaseCompleted {
		t.Error("a blank reply completed the work")
	}
}

func TestRoleToolWithoutSchema(t *testing.T) {
	for _, tool := range Tools(oddSubAgent()) {
		if tool.Name == "Search" && !strings.Contains(string(tool.Parameters), `"task"`) {
			t.Errorf("its parameters are %s", tool.Parameters)
		}
	}
}

func TestCompactionKeepsHalfWithoutContextLimit(t *testing.T) {
	c := oddSubAgent()
	history := make([]Message, 20)
	for i := range history {
		history[i] = Message{Speaker: User, Text: "some text"}
	}
	s := applyFacts(State{}, Started{Config: c, History: history}, ModelFailed{Call: "m1", Attempt: 1, Failure: FailureContext})
	if s.ModelCall == nil || s.ModelCall.Purpose != PurposeCompact || s.ModelCall.Keep < 8 {
		t.Errorf("kept %+v of 21 messages, want about half", s.ModelCall)
	}
}

// The reply arrives when the time limit is already reached. Waiting for the approval does not count, but the approved call does.
func TestApprovalAfterDeadline(t *testing.T) {
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
			s = applyFacts(s, Decided{Call: ask.Call, Approve: true})
		}
	}
	for _, e := range Outstanding(s) {
		if _, ok := e.(RunTool); ok {
			t.Errorf("%v runs after the time limit", e)
		}
	}
	if s.LimitReached == nil || s.LimitReached.Kind != ErrorTimedOut {
		t.Errorf("phase %s with the outcome %+v, want a timeout", s.Phase, s.LimitReached)
	}
}

// A child's calls with unknown cost count against the budget of its parent as they were reserved.
func TestUnknownChildCostCountsForParent(t *testing.T) {
	counted := budget.Amount{Tokens: 100, CostMicros: 7, Currency: "EUR"}
	known := int64(5)
	for name, tc := range map[string]struct {
		fact ChildFinished
		want int64
	}{
		"unknown": {ChildFinished{Child: "child", Usage: budget.Usage{PromptTokens: 100, ModelCalls: 1}, Counted: counted}, 7},
		"known":   {ChildFinished{Child: "child", Usage: budget.Usage{PromptTokens: 100, ModelCalls: 1, CostMicros: &known, Currency: "EUR"}}, 5},
	} {
		s := childFinished(State{Children: Children{Live: []Child{{ChildSpec: ChildSpec{Name: "child"}}}}}, tc.fact)
		if got := s.Budget.Used; got.CostMicros != tc.want || got.Currency != "EUR" || got.Tokens != 100 {
			t.Errorf("%s: %+v is counted, want %d", name, got, tc.want)
		}
	}
}
