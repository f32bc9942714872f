// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/nestor-dev/nestor/internal/plainjson"
)

// Speaker is the author of a message in a history.
type Speaker string

// The speakers. The system prompt is not part of a history: it is built from the state for each call.
const (
	// User is the person, or the parent of a sub-agent.
	User      Speaker = "user"
	Assistant Speaker = "assistant"
	// ToolSpeaker answers a tool call.
	ToolSpeaker Speaker = "tool"
)

// Message is one entry of an agent's history, as presented to the model.
type Message struct {
	Speaker Speaker `json:"speaker"`
	Text    string  `json:"text,omitempty"`
	// Calls are the tool calls of an assistant's message.
	Calls []ToolCall `json:"calls,omitempty"`
	// ReasoningItems must be returned to the model's API with an assistant's message.
	ReasoningItems []ReasoningItem `json:"reasoningItems,omitempty"`
	// Call is the id of the tool call that the message answers, Outcome its outcome.
	Call    string      `json:"call,omitempty"`
	Outcome ToolOutcome `json:"outcome,omitempty"`
	Images  []Image     `json:"images,omitempty"`
	At      Time        `json:"time,omitempty"`
}

// ToolCall is a tool call as the model wrote it.
type ToolCall struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Arguments is the unchanged text, which may not be valid JSON.
	Arguments string `json:"arguments,omitempty"`
	// Problem is text for the model that explains why the call is invalid: its arguments are cut off or do not match
	// the schema. The driver checks this before it records the reply. An invalid call is answered with its problem and
	// has no other effect.
	Problem string `json:"problem,omitempty"`
}

// History is a persistent append-only list of messages. States share it: appending copies nothing and never changes
// another history, so the cost of a step does not depend on the length.
type History struct {
	last *entry
}

type entry struct {
	message  Message
	previous *entry
	length   int
	// tokens estimates this message and all before it.
	tokens int64
}

func NewHistory(messages ...Message) History {
	var h History
	for _, m := range messages {
		h = h.Append(m)
	}
	return h
}

func (h History) Append(m Message) History {
	return History{last: &entry{message: m, previous: h.last, length: h.Len() + 1, tokens: h.Tokens() + m.tokens()}}
}

// Len returns the number of messages.
func (h History) Len() int {
	if h.last == nil {
		return 0
	}
	return h.last.length
}

// Tokens estimates the tokens of the whole history in a prompt.
func (h History) Tokens() int64 {
	if h.last == nil {
		return 0
	}
	return h.last.tokens
}

// without returns the history without its newest n messages.
func (h History) without(n int) History {
	for ; h.last != nil && n > 0; n-- {
		h.last = h.last.previous
	}
	return h
}

// Backward iterates over the messages from the newest to the oldest.
func (h History) Backward() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		for e := h.last; e != nil; e = e.previous {
			if !yield(e.message) {
				return
			}
		}
	}
}

// Since returns the messages that were appended to an earlier history, the oldest first. It reports false if h does not
// continue the earlier history. The cost depends only on the number of new messages.
func (h History) Since(earlier History) ([]Message, bool) {
	n := h.Len() - earlier.Len()
	if n < 0 || h.without(n).last != earlier.last {
		return nil, false
	}
	return h.Newest(n), true
}

// Messages returns all messages, the oldest first.
func (h History) Messages() []Message {
	messages := make([]Message, 0, h.Len())
	for m := range h.Backward() {
		messages = append(messages, m)
	}
	slices.Reverse(messages)
	return messages
}

// Newest returns up to n messages, the oldest first.
func (h History) Newest(n int) []Message {
	messages := make([]Message, 0, min(n, h.Len()))
	for m := range h.Backward() {
		if len(messages) == n {
			break
		}
		messages = append(messages, m)
	}
	slices.Reverse(messages)
	return messages
}

// MarshalJSON encodes the messages as a list.
func (h History) MarshalJSON() ([]byte, error) { return plainjson.Marshal(h.Messages()) }

// UnmarshalJSON decodes a list of messages.
func (h *History) UnmarshalJSON(data []byte) error {
	var messages []Message
	if err := json.Unmarshal(data, &messages); err != nil {
		return err
	}
	*h = NewHistory(messages...)
	return nil
}
