// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// MaxTitle bounds the title of a chat, in characters.
const MaxTitle = 80

// setTitle records the title that the model proposes for its chat.
func setTitle(s State, c BatchCall) (State, BatchCall) {
	var in struct {
		Title string `json:"title"`
	}
	if err := jsonInto(c.Arguments, &in); err != nil {
		return s, c.done(ToolFailed, textBadArguments(c.Tool, err))
	}
	title := shorten.UntrustedLine(in.Title, MaxTitle)
	if title == "" {
		return s, c.done(ToolFailed, `set_title needs a non-empty "title".`)
	}
	s.Title = title
	return s, c.done(ToolSucceeded, fmt.Sprintf("The chat has the title %q.", title))
}

// onlySetsTitle reports whether a reply answers the user and sets the title beside it. Then the turn is over: the model has nothing to
// add, and another call would cost as much as the first.
func (s State) onlySetsTitle(f ModelReplied, calls []ToolCall) bool {
	return s.Config.Kind == Orchestrator && f.Text != "" && s.Config.Offers(ToolTitle) &&
		!slices.ContainsFunc(calls, func(c ToolCall) bool { return c.Tool != ToolTitle })
}
