// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"strconv"
	"strings"
)

// Origin is what a piece of delegated work goes back to.
type Origin struct {
	// Thread is what started it all: a message of the chat.
	Thread string `json:"thread,omitempty"`
	// Request and Call are the reply of the parent's model, and the call in it, that asked for the work.
	Request string `json:"request,omitempty"`
	Call    string `json:"call,omitempty"`
	// Attempt is the try of the model call Request that was answered.
	Attempt int `json:"attempt,omitempty"`
}

// Thread is what all that the agent does now goes back to: a message of the chat, or the turn itself if there is none.
func (s State) Thread() string {
	switch {
	case s.Config.Kind != Orchestrator:
		return s.Config.Origin.Thread
	case s.Turn.Thread != "":
		return s.Turn.Thread
	}
	return "turn/" + strconv.Itoa(s.Turn.Number)
}

// OriginOf is what a child goes back to. It is empty for one that the agent does not know any more.
func (s State) OriginOf(child string) Origin {
	i := s.Children.find(child)
	if i < 0 {
		return Origin{}
	}
	g := s.Children.group(s.Children.Live[i].Group)
	if g < 0 {
		return Origin{}
	}
	return s.Children.Groups[g].Origin
}

// threadOf is what a turn about these inputs goes back to: the newest message of the person's, else the work that they are about.
func threadOf(inputs []Input) string {
	thread := ""
	for _, in := range slices.Backward(inputs) {
		if in.Kind == InputMessage {
			return in.Thread
		}
		if in.Thread != "" {
			thread = in.Thread
		}
	}
	return thread
}

// threadBelow is the thread of an agent somewhere below this one: names begin with those of the agents above, but for very long ones.
func (s State) threadBelow(name string) string {
	for _, child := range s.Children.Live {
		if name == child.Name || strings.HasPrefix(name, child.Name+"-") {
			return s.OriginOf(child.Name).Thread
		}
	}
	return ""
}
