// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// reasoningMark is part of every reasoning item that the simulation draws, and of nothing else.
const reasoningMark = "private-thought-"

// drawReasoning draws the reasoning items of a reply: of the whole reply, of its calls, and of calls that it does not have.
func (sim *simulation) drawReasoning(calls []ToolCall) []ReasoningItem {
	items := make([]ReasoningItem, rapid.IntRange(0, 3).Draw(sim.t, "items"))
	for i := range items {
		owners := []string{"", "unknown"}
		for _, c := range calls {
			owners = append(owners, c.ID)
		}
		items[i] = ReasoningItem{API: "Anthropic", Model: "m", Call: rapid.SampledFrom(owners).Draw(sim.t, "owner"),
			Data: json.RawMessage(fmt.Sprintf("%q", sim.id(reasoningMark)))}
	}
	return items
}

// Every prompt contains the items of a reply in the message of that reply, as they came, and nothing else contains them.
func reasoningStaysWithItsMessage(t *rapid.T) func(step) {
	var replies []Message // the messages of all replies, in order
	return func(s step) {
		f, replied := s.event.Fact.(ModelReplied)
		if _, stopped := s.event.Fact.(Cancelled); replied || stopped { // a reply that was stopped is kept without reasoning
			for _, m := range s.after.History.Newest(max(0, s.after.History.Len()-s.before.History.Len())) {
				if m.Speaker == Assistant {
					checkKeptReasoning(t, f, m)
					replies = append(replies, m)
				}
			}
		}
		for _, e := range s.effects {
			if text := toJSON(e); strings.Contains(text, reasoningMark) {
				t.Fatalf("an effect contains reasoning: %s", text)
			}
		}
		if s.after.ModelCall == nil {
			return
		}
		var shown []Message
		for _, m := range BuildPrompt(s.after).Messages {
			if m.Speaker == Assistant {
				shown = append(shown, m)
			} else if strings.Contains(toJSON(m), reasoningMark) {
				t.Fatalf("a message of %s contains reasoning: %s", m.Speaker, toJSON(m))
			}
		}
		// A compaction removes the oldest messages.
		if newest := replies[max(0, len(replies)-len(shown)):]; toJSON(newest) != toJSON(shown) && len(shown) > 0 {
			t.Fatalf("the prompt contains the replies\n%s\nwant\n%s", toJSON(shown), toJSON(newest))
		}
	}
}

// checkKeptReasoning checks that a message contains exactly the items of its reply that belong to it.
func checkKeptReasoning(t *rapid.T, f ModelReplied, m Message) {
	var want []ReasoningItem
	for _, item := range f.ReasoningItems {
		i := slices.IndexFunc(f.Calls, func(c ToolCall) bool { return item.Call != "" && c.ID == item.Call })
		switch {
		case item.Call == "":
		case i >= 0 && len(m.Calls) == len(f.Calls):
			item.Call = m.Calls[i].ID
		default:
			continue
		}
		want = append(want, item)
	}
	if toJSON(m.ReasoningItems) != toJSON(want) {
		t.Fatalf("the reply %s is kept with\n%s\nwant\n%s", toJSON(f), toJSON(m.ReasoningItems), toJSON(want))
	}
}

func TestReasoningIsLimited(t *testing.T) {
	item := func(size int) ReasoningItem {
		return ReasoningItem{API: "Gemini", Model: "m", Data: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)}
	}
	many := make([]ReasoningItem, 10*maxReasoningItems)
	for i := range many {
		many[i] = item(1)
	}
	for name, c := range map[string]struct {
		items []ReasoningItem
		want  int
	}{
		"none":            {nil, 0},
		"small":           {[]ReasoningItem{item(10), item(10)}, 2},
		"too many":        {many, maxReasoningItems},
		"too large":       {[]ReasoningItem{item(100), item(maxReasoningBytes), item(1)}, 1},
		"large, together": {[]ReasoningItem{item(maxReasoningBytes / 2), item(maxReasoningBytes / 2), item(1)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := thinking(ModelReplied{Call: "m1", Text: "I think.", ReasoningItems: c.items, Calls: []ToolCall{{ID: "c1", Tool: "look", Arguments: "{}"}}})
			messages := s.History.Messages()
			kept := messages[len(messages)-1].ReasoningItems
			if len(kept) != c.want {
				t.Errorf("%d of %d items are kept, want %d", len(kept), len(c.items), c.want)
			}
			if state := toJSON(s); len(state) > 2*maxReasoningBytes {
				t.Errorf("the state has %d bytes", len(state))
			}
		})
	}
}

// thinking returns a sub-agent after its first reply.
func thinking(reply ModelReplied) State {
	s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: Config{
		Kind: SubAgent, Name: "a", Depth: 1, MaxDepth: 1, Role: Role{Name: "coder", Allow: []string{"*"}}, Task: Task{Instruction: "work"},
		Tools: []Tool{{Name: "look", ReadOnly: true}}, Limits: Limits{ContextTokens: 100_000, MaxOutputTokens: 100},
	}}})
	s, _ = Step(s, Event{At: 2, Fact: reply})
	return s
}

func TestReasoningCountsAsPrompt(t *testing.T) {
	reply := ModelReplied{Call: "m1", Text: "I think.", Calls: []ToolCall{{ID: "c1", Tool: "look", Arguments: "{}"}}}
	without := thinking(reply).History.Tokens()
	reply.ReasoningItems = []ReasoningItem{{API: "Anthropic", Model: "m", Data: json.RawMessage(`"` + strings.Repeat("because ", 1000) + `"`)}}
	if added := thinking(reply).History.Tokens() - without; added < 900 || added > 2500 {
		t.Errorf("reasoning of about 1000 tokens adds %d to the estimate", added)
	}
	reply.ReasoningItems, reply.Reasoning = nil, strings.Repeat("because ", 1000) // the text is not sent back
	if s := thinking(reply); s.History.Tokens() != without || strings.Contains(toJSON(s), "because") {
		t.Error("the text of the reasoning is part of the state")
	}
}

// The bytes of an item must survive the log, or the request after a restart would differ.
func TestReasoningRoundTrips(t *testing.T) {
	want := Event{At: 1, Fact: ModelReplied{Call: "m1", Text: "hi", Reasoning: "because", ReasoningItems: []ReasoningItem{
		{API: "Anthropic", Model: "claude", Data: json.RawMessage(`{"type":"thinking","thinking":"a < b & c","signature":"EqQB+/=="}`)},
		{API: "Gemini", Model: "gemini", Call: "c1", Data: json.RawMessage(`"CiQB\u00e9=="`)},
	}}}
	data, err := EncodeEvent(want)
	if err != nil {
		t.Fatal(err)
	}
	var read Event
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("the event changes when it is encoded and decoded (-want +read):\n%s", diff)
	}
}
