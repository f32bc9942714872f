// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"strconv"
	"strings"
)

// Origin identifies the message and tool call that led to delegated work.
type Origin struct {
	// Thread is the message of the chat at the top.
	Thread string `json:"thread,omitempty"`
	// ModelCall is the id of the parent's model call, and Call the tool call in its reply, that delegated the work.
	ModelCall string `json:"modelCall,omitempty"`
	Call      string `json:"call,omitempty"`
	// Attempt is the attempt of the model call that got the reply.
	Attempt int `json:"attempt,omitempty"`
}

// Thread returns the message of the chat that led to the agent's current work, or an id of the turn itself if there is none.
func (s State) Thread() string {
	switch {
	case s.Config.Kind != Orchestrator:
		return s.Config.Origin.Thread
	case s.Turn.Thread != "":
		return s.Turn.Thread
	}
	return "turn/" + strconv.Itoa(s.Turn.Number)
}

// ChildOrigin returns the origin of a child. It is empty for an unknown child.
func (s State) ChildOrigin(child string) Origin {
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

// threadOf returns the thread of a turn with these inputs: the newest message of the person, otherwise the thread of the work
// that they are about.
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

// threadBelow returns the thread of an agent below this one. It relies on names: except for very long ones, the name of an agent
// starts with those of its ancestors.
func (s State) threadBelow(name string) string {
	for _, child := range s.Children.Live {
		if name == child.Name || strings.HasPrefix(name, child.Name+"-") {
			return s.ChildOrigin(child.Name).Thread
		}
	}
	return ""
}
