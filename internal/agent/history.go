// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"iter"
	"slices"
)

// Speaker is who says a message.
type Speaker string

// The speakers of a history. The system prompt is not part of it: it is built from the state for each call.
const (
	// User is the person, or the one who gave the assignment.
	User Speaker = "user"
	// Assistant is the model.
	Assistant Speaker = "assistant"
	// ToolSpeaker is the answer to a call.
	ToolSpeaker Speaker = "tool"
)

// Message is one entry of an agent's history, as the model sees it.
type Message struct {
	Speaker Speaker `json:"speaker"`
	Text    string  `json:"text,omitempty"`
	// Calls are the tool calls of an assistant's message.
	Calls []CallRequest `json:"calls,omitempty"`
	// Call is the id of the call that a tool's message answers, Outcome how it ended.
	Call    string      `json:"call,omitempty"`
	Outcome ToolOutcome `json:"outcome,omitempty"`
	At      Time        `json:"at,omitempty"`
}

// CallRequest is a tool call as the model asked for it.
type CallRequest struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Arguments is the text that the model wrote, which may not be valid JSON.
	Arguments string `json:"arguments,omitempty"`
}

// tokens estimates what the message costs in a prompt: a token for four bytes, and a few for the frame around it.
// Providers count differently; a history that is too long after all comes back as ContextTooLong and is compacted.
func (m Message) tokens() int64 {
	size := len(m.Text)
	for _, call := range m.Calls {
		size += len(call.ID) + len(call.Tool) + len(call.Arguments)
	}
	return int64(size)/4 + 4
}

// History is an append-only list of messages. States share it: appending to one never changes another and copies
// nothing, so that a step costs the same whatever the length.
type History struct {
	last *entry
}

type entry struct {
	message  Message
	previous *entry
	length   int
	tokens   int64
}

// NewHistory returns the history of these messages.
func NewHistory(messages ...Message) History {
	var h History
	for _, m := range messages {
		h = h.Append(m)
	}
	return h
}

// Append returns the history with one more message.
func (h History) Append(m Message) History {
	return History{last: &entry{message: m, previous: h.last, length: h.Len() + 1, tokens: h.Tokens() + m.tokens()}}
}

// Len is the number of messages.
func (h History) Len() int {
	if h.last == nil {
		return 0
	}
	return h.last.length
}

// Tokens estimates what the whole history costs in a prompt.
func (h History) Tokens() int64 {
	if h.last == nil {
		return 0
	}
	return h.last.tokens
}

// Backward yields the messages from the newest to the oldest.
func (h History) Backward() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		for e := h.last; e != nil; e = e.previous {
			if !yield(e.message) {
				return
			}
		}
	}
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

// MarshalJSON writes the messages as a list.
func (h History) MarshalJSON() ([]byte, error) { return json.Marshal(h.Messages()) }

// UnmarshalJSON reads a list of messages.
func (h *History) UnmarshalJSON(data []byte) error {
	var messages []Message
	if err := json.Unmarshal(data, &messages); err != nil {
		return err
	}
	*h = NewHistory(messages...)
	return nil
}
