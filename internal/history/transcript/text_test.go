// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"strings"
	"testing"
	"time"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger"
)

func TestSearchText(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for name, c := range map[string]struct {
		fact agent.Fact
		kind api.EntryKind
		text string
	}{
		"task": {agent.Started{Config: agent.Config{
			Kind: agent.SubAgent, Role: agent.Role{Prompt: "You are secret."}, Task: agent.Task{Instruction: "Count the leap days"}, Limits: agent.Limits{MaxIterations: 3},
		}}, api.EntryStarted, "Count the leap days"},
		"message": {agent.MessageArrived{Text: "Hello"}, api.EntryUser, "Hello"},
		"reply": {agent.ModelReplied{Text: "Hi", Reasoning: "hm", Calls: []agent.ToolCall{
			{ID: "c", Tool: "write", Arguments: `{"path": "a\nb.txt", "mode": 7, "lines": ["one", {"two": true}], "deep": {"x": "three"}}`},
			{ID: "d", Tool: "bash", Arguments: `{"command": "cut`},
		}}, api.EntryAssistant, "Hi\nthree\none\n7\na\nb.txt\n{\"command\": \"cut"},
		"result":       {agent.ToolFinished{Call: "c", Text: "Done"}, api.EntryToolResult, "Done"},
		"long result":  {agent.ToolFinished{Call: "c", Text: long}, api.EntryToolResult, long[:8<<10]},
		"long message": {agent.MessageArrived{Text: long}, api.EntryUser, long[:32<<10]},
		"question":     {agent.ToolAsked{Call: "c", Question: "Which?"}, api.EntryQuestion, "Which?"},
		"answer":       {agent.Answered{Call: "c", Text: "That one"}, api.EntryAnswer, "That one"},
		"approval":     {agent.Asked{Kind: agent.AskApproval, Tool: "write", Arguments: `{"path": "x"}`}, api.EntryApproval, "x"},
		"decision":     {agent.Decided{Call: "c", Comment: "Too risky"}, api.EntryDecision, "Too risky"},
		"child": {agent.ChildFinished{Child: "a", Outcome: agent.Outcome{Kind: agent.ErrorCancelled, Error: "It broke"}},
			api.EntryChildResult, "It broke"},
		"restart": {agent.Restarted{Unknown: []string{"c"}}, "", ""},
		"timer":   {agent.Woke{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := agent.EncodeEvent(agent.Event{At: 1, Fact: c.fact})
			if err != nil {
				t.Fatal(err)
			}
			kind, text := transcript.SearchText(ledger.Event{Seq: 1, Type: agent.FactType(c.fact), At: time.UnixMilli(1), Data: data})
			if kind != c.kind || text != c.text {
				t.Errorf("%s: %.200q, want %s: %.200q", kind, text, c.kind, c.text)
			}
		})
	}
	for _, data := range []string{`{}`, `{"v":99}`, `null`, `{"v":1,"type":"Nothing"}`, `{"v":1,"type":"MessageArrived","fact":7}`} {
		if text := transcript.Text(ledger.Event{Type: "Started", Data: []byte(data)}); text != "" {
			t.Errorf("the text of %s is %q", data, text)
		}
	}
}
