// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkStep measures one iteration with a tool: the model's reply and the tool's answer. Its cost must not grow with the
// history.
func BenchmarkStep(b *testing.B) {
	for _, length := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", length), func(b *testing.B) {
			s := withHistory(length)
			b.ReportAllocs()
			for b.Loop() {
				next, _ := Step(s, Event{At: 2, Fact: ModelReplied{Call: s.ModelCall.ID, Text: "reading",
					Calls: []ToolCall{{ID: "call", Tool: "read", Arguments: `{"path":"a"}`}}}})
				Step(next, Event{At: 3, Fact: ToolFinished{Call: "call", Outcome: ToolSucceeded, Text: "text"}})
			}
		})
	}
}

// BenchmarkPrompt measures building a prompt, whose cost grows with the history because all of it is sent.
func BenchmarkPrompt(b *testing.B) {
	for _, length := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", length), func(b *testing.B) {
			s := withHistory(length)
			b.ReportAllocs()
			for b.Loop() {
				BuildPrompt(s)
			}
		})
	}
}

// BenchmarkFanIn measures the end of one of many children.
func BenchmarkFanIn(b *testing.B) {
	for _, children := range []int{10, 50, 500} {
		b.Run(fmt.Sprintf("children=%d", children), func(b *testing.B) {
			s := withHistory(10)
			tasks := strings.TrimSuffix(strings.Repeat(`{"task":"work","role":"helper"},`, children), ",")
			s, _ = Step(s, Event{At: 2, Fact: ModelReplied{Call: s.ModelCall.ID,
				Calls: []ToolCall{{ID: "call", Tool: ToolSpawn, Arguments: `{"tasks":[` + tasks + `]}`}}}})
			b.ReportAllocs()
			for b.Loop() {
				Step(s, Event{At: 3, Fact: ChildFinished{Child: "a-1", Outcome: Outcome{Result: &Result{Text: "done"}}}})
			}
		})
	}
}

func withHistory(messages int) State {
	history := make([]Message, messages)
	for i := range history {
		history[i] = Message{Speaker: User, Text: "some text of an ordinary length, as people write it"}
	}
	s, _ := Step(State{}, Event{At: 1, Fact: Started{
		Config: Config{Kind: SubAgent, Name: "a", Depth: 1, MaxDepth: 2, Task: Task{Instruction: "work"},
			Role: Role{Name: "worker", Allow: []string{"*"}}, Tools: []Tool{{Name: "read", ReadOnly: true}}, Delegates: []Delegate{{Name: "helper"}}},
		History: history,
	}})
	return s
}
