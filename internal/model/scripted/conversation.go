// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/shorten"
)

const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// conversation is a request in the form that rules match, which is the same for all APIs.
type conversation struct {
	model    string
	messages []message
	// tools are the names of the tools that the model may call.
	tools []string
	// stream means that the client requested a stream.
	stream bool
	// callPrefix begins the IDs of tool calls; empty if the API sends none.
	callPrefix string

	role    string
	roleKey string
	system  string
	turn    int
}

// message is one message of a conversation. Where an API has one turn for several messages, each text of the turn is a
// message. The images of tool results are in a user message after the results.
type message struct {
	role   string
	text   string
	images int
	// calls belong to assistant messages; callID is the call that a tool message answers.
	calls  []toolCall
	callID string
}

type toolCall struct {
	id, name, arguments string
}

// input returns the arguments as JSON, for APIs that do not send them as text.
func (c toolCall) input() json.RawMessage {
	if input := json.RawMessage(c.arguments); json.Valid(input) {
		return input
	}
	return encode(c.arguments)
}

const orchestratorRole = "orchestrator"

// complete fills the fields that depend on the messages.
func (c *conversation) complete() *conversation {
	c.role, c.turn = orchestratorRole, 1
	for i := range c.messages {
		m := &c.messages[i]
		switch m.role {
		case roleAssistant:
			c.turn++
		case roleSystem:
			if c.system == "" {
				c.system = m.text
			}
		}
	}
	if role, ok := parseRole(c.system); ok {
		c.role = role
	}
	c.roleKey = roleKey(c.role)
	return c
}

// parseRole returns the role from the line of the sub-agent context: "You are operating as a **ROLE** sub-agent". A
// prompt without it is the orchestrator's.
func parseRole(system string) (string, bool) {
	const before, after = "You are operating as a", "** sub-agent"
	_, rest, ok := strings.Cut(system, before)
	if !ok {
		return "", false
	}
	name, _, ok := strings.Cut(rest, after)
	if !ok || len(name) > 200 {
		return "", false
	}
	name = strings.TrimPrefix(name, "n")
	return strings.TrimPrefix(strings.TrimSpace(name), "**"), true
}

// roleKey makes "Code Reviewer", "code_reviewer" and "CodeReviewer" the same.
func roleKey(name string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(name))
}

// last returns the newest message, or an empty one.
func (c *conversation) last() *message {
	if len(c.messages) == 0 {
		return &message{}
	}
	return &c.messages[len(c.messages)-1]
}

// toolResults calls yield for the tool messages at the end of the conversation with the name of their tool, in order,
// until it returns true.
func (c *conversation) toolResults(yield func(tool, result string) bool) bool {
	end := len(c.messages)
	if end > 1 && c.messages[end-1].images > 0 && c.messages[end-2].role == roleTool {
		end-- // the images of the results
	}
	first := end
	for first > 0 && c.messages[first-1].role == roleTool {
		first--
	}
	if first == 0 {
		return false
	}
	calls := c.messages[first-1].calls
	for _, m := range c.messages[first:end] {
		for _, call := range calls {
			if call.id == m.callID && yield(call.name, m.text) {
				return true
			}
		}
	}
	return false
}

func (c *conversation) offers(tool string) bool { return slices.Contains(c.tools, tool) }

// derivedID returns an ID that depends only on the request: a repeated request gets the same IDs, and they differ
// within a conversation because it grows with each turn.
func (c *conversation) derivedID() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s|%s|%d|%d|%s", c.model, c.role, c.turn, len(c.messages), c.last().text)
	return strconv.FormatUint(h.Sum64(), 36)
}

// String describes the request, for the error when no rule matches.
func (c *conversation) String() string {
	last := c.last()
	return fmt.Sprintf("role %q, turn %d, model %q, last message (%s) %q, tools %v",
		c.role, c.turn, c.model, last.role, shorten.Head(last.text, 300), c.tools)
}
