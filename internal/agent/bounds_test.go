// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLongPostsAreSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.StringN(0, 40, -1).Draw(t, "text"), rapid.IntRange(1, 10).Draw(t, "limit")
		parts := split(text, limit)
		if strings.Join(parts, "") != text {
			t.Fatalf("%q became %q", text, parts)
		}
		for i, part := range parts {
			n := utf8.RuneCountInString(part)
			if n > limit || (n < limit && i < len(parts)-1) || (n == 0 && len(parts) > 1) {
				t.Fatalf("part %d of %q has %d of %d characters", i, parts, n, limit)
			}
		}
	})
}

// A compaction prompt must itself fit into the context, and the compacted history must be small.
func TestCompactionFits(t *testing.T) {
	long := make([]Message, 200)
	for i := range long {
		long[i] = Message{Speaker: User, Text: strings.Repeat("word ", 100)}
	}
	limits := Limits{ContextTokens: 4000, MaxOutputTokens: 500}
	s, _ := Step(State{}, Event{At: 1, Fact: Started{History: long, Config: Config{
		Kind: SubAgent, Name: "a", Depth: 1, MaxDepth: 1, Limits: limits, Task: Task{Instruction: "work"},
	}}})
	if s.ModelCall.Purpose != PurposeCompact {
		t.Fatalf("the first call with a history of %d tokens has the purpose %s", s.History.Tokens(), s.ModelCall.Purpose)
	}
	prompt := NewHistory(BuildPrompt(s).Messages...)
	if prompt.Tokens() > limits.ContextTokens-limits.MaxOutputTokens {
		t.Errorf("the compaction prompt has about %d tokens", prompt.Tokens())
	}
	if !strings.Contains(prompt.Messages()[0].Text, "earlier messages left out") {
		t.Error("the prompt does not mention the omitted messages")
	}
	s, _ = Step(s, Event{At: 2, Fact: ModelReplied{Call: s.ModelCall.ID, Text: "short"}})
	if kept := s.History.Tokens(); kept > limits.ContextTokens/4 {
		t.Errorf("compaction left %d tokens of history, want at most a quarter of %d", kept, limits.ContextTokens)
	}
}
