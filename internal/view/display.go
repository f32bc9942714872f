// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Display is what a client displays of a chat or of standalone tasks beside the objects themselves, by UID.
type Display struct {
	Tasks    map[types.UID]TaskDisplay
	Messages map[types.UID]MessageDisplay
}

// TaskDisplay is what a client displays of a task.
type TaskDisplay struct {
	Badge Badge `json:"badge"`
	// Agent is the UID of its sub-agent.
	Agent types.UID `json:"agent,omitempty"`
	// Parent is the task whose sub-agent delegated it, and Place its place among that task's children.
	Parent string `json:"parent,omitempty"`
	Place  int    `json:"place"`
	// Trigger is the message that caused it, if that still exists.
	Trigger   string     `json:"trigger,omitempty"`
	WaitState *WaitState `json:"waitState,omitempty"`
	// Own is its usage without that of its children.
	Own      v1beta1.Usage    `json:"own"`
	Progress []ReportedByTool `json:"progress,omitempty"`
}

// MessageDisplay is what a client displays of a message.
type MessageDisplay struct {
	// Place is its place in the conversation.
	Place    int             `json:"place"`
	Request  *Request        `json:"request,omitempty"`
	Question *PostedQuestion `json:"question,omitempty"`
	// Hidden means that it is shown with a request: it is a later part of it, or the decision.
	Hidden bool `json:"hidden,omitempty"`
}

// Display returns what a client displays of a chat, or with an empty name of standalone tasks.
func (s Snapshot) Display(chat string) Display {
	d := Display{Tasks: map[types.UID]TaskDisplay{}, Messages: map[types.UID]MessageDisplay{}}
	triggers := map[string]bool{}
	for _, m := range s.Messages {
		triggers[m.Name] = true
	}
	tree := s.Tree(chat)
	nodes := map[string]*Node{}
	var add func(children []*Node, parent string)
	add = func(children []*Node, parent string) {
		for i, n := range children {
			nodes[n.Task.Name] = n
			shown := TaskDisplay{Badge: n.Badge(), Parent: parent, Place: i, WaitState: n.waitState(), Own: nonNegative(ownUsage(n.Usage(), n.Children)), Progress: n.ReportedByTools()}
			if n.Agent != nil {
				shown.Agent = n.Agent.UID
			}
			if triggers[n.Task.Spec.TriggerMessage] {
				shown.Trigger = n.Task.Spec.TriggerMessage
			}
			d.Tasks[n.Task.UID] = shown
			add(n.Children, n.Task.Name)
		}
	}
	add(tree, "")
	posts := newPosts(s.Messages, nodes)
	for i := range s.Messages {
		d.Messages[s.Messages[i].UID] = posts.display(i)
	}
	return d
}

// nonNegative returns a usage without what a status that lags makes negative.
func nonNegative(u v1beta1.Usage) v1beta1.Usage {
	u.PromptTokens, u.CompletionTokens = max(0, u.PromptTokens), max(0, u.CompletionTokens)
	u.TotalTokens, u.ModelCalls = max(0, u.TotalTokens), max(0, u.ModelCalls)
	if u.CostMicros != nil && *u.CostMicros < 0 {
		u.CostMicros = new(int64)
	}
	return u
}
