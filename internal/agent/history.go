// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/nestor-dev/nestor/internal/plainjson"
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
	// Images are what the message shows besides its text.
	Images []Image `json:"images,omitempty"`
	At     Time    `json:"at,omitempty"`
}

// CallRequest is a tool call as the model asked for it.
type CallRequest struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Arguments is the text that the model wrote, which may not be valid JSON.
	Arguments string `json:"arguments,omitempty"`
	// Problem is why the call cannot be made, in words for the model: its arguments are cut off or do not fit the schema. The driver
	// finds it before the reply is an event. Such a call is answered with it at once, and nothing else happens.
	Problem string `json:"problem,omitempty"`
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
	// tokens estimates this message and all before it, and byBytes does so as earlier releases did.
	tokens, byBytes int64
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
	return History{last: &entry{
		message: m, previous: h.last, length: h.Len() + 1, tokens: h.Tokens() + m.tokens(), byBytes: h.byBytes() + m.tokensByBytes(),
	}}
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

func (h History) byBytes() int64 {
	if h.last == nil {
		return 0
	}
	return h.last.byBytes
}

// without is the history that ends before the newest n messages.
func (h History) without(n int) History {
	for ; h.last != nil && n > 0; n-- {
		h.last = h.last.previous
	}
	return h
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

// Since returns the messages that came after those of an earlier history, the oldest first. It reports false if the history does not go
// on from it. It looks at the new messages alone.
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

// MarshalJSON writes the messages as a list.
func (h History) MarshalJSON() ([]byte, error) { return plainjson.Marshal(h.Messages()) }

// UnmarshalJSON reads a list of messages.
func (h *History) UnmarshalJSON(data []byte) error {
	var messages []Message
	if err := json.Unmarshal(data, &messages); err != nil {
		return err
	}
	*h = NewHistory(messages...)
	return nil
}
