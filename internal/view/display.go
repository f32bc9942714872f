// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Display has what a client displays of a chat or of standalone tasks besides the objects themselves, by UID.
type Display struct {
	Tasks    map[types.UID]TaskDisplay
	Messages map[types.UID]MessageDisplay
}

// TaskDisplay has what a client displays of a task.
type TaskDisplay struct {
	Badge Badge `json:"badge"`
	// Agent is the UID of its sub-agent.
	Agent types.UID `json:"agent,omitempty"`
	// Parent is the task whose sub-agent delegated it, and Place its place among that task's children.
	Parent string `json:"parent,omitempty"`
	Place  int    `json:"place"`
	// Trigger is the message that caused it, and After the one below which it is displayed: the posts of the
	// orchestrator before it delegated the task, or else Trigger. Both are empty if the message that caused it was
	// deleted.
	Trigger string `json:"trigger,omitempty"`
	After   string `json:"after,omitempty"`
	// Question is the posted message with the question of its agent that waits for an answer.
	Question  string     `json:"question,omitempty"`
	WaitState *WaitState `json:"waitState,omitempty"`
	// Own is its usage without that of its children.
	Own      v1beta1.Usage    `json:"own"`
	Progress []ReportedByTool `json:"progress,omitempty"`
}

// MessageDisplay has what a client displays of a message.
type MessageDisplay struct {
	// Place is its place in the conversation.
	Place    int             `json:"place"`
	Request  *Request        `json:"request,omitempty"`
	Question *PostedQuestion `json:"question,omitempty"`
	// Hidden means that it is shown with a request: it is a later part of it, or the decision.
	Hidden bool `json:"hidden,omitempty"`
}

// Display returns the display of a chat, or of the standalone tasks if the name is empty.
func (s Snapshot) Display(chat string) Display {
	d := Display{Tasks: map[types.UID]TaskDisplay{}, Messages: map[types.UID]MessageDisplay{}}
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
			shown.Trigger, shown.After = s.findTrigger(&n.Task)
			d.Tasks[n.Task.UID] = shown
			add(n.Children, n.Task.Name)
		}
	}
	add(tree, "")
	posts := newPosts(s.Messages, nodes)
	for i := range s.Messages {
		shown := posts.display(i)
		d.Messages[s.Messages[i].UID] = shown
		if q := shown.Question; q != nil && q.Open {
			uid := nodes[q.Task].Task.UID
			task := d.Tasks[uid]
			task.Question = s.Messages[i].Name
			d.Tasks[uid] = task
		}
	}
	posts.hideAnswers(d.Messages)
	return d
}

// findTrigger returns the message that caused a task, and the one below which it is displayed.
func (s Snapshot) findTrigger(task *v1beta1.AgentTask) (trigger, after string) {
	at := slices.IndexFunc(s.Messages, func(m v1beta1.AgentMessage) bool { return m.Name == task.Spec.TriggerMessage })
	if at < 0 {
		return "", ""
	}
	trigger = s.Messages[at].Name
	before, err := strconv.Atoi(task.Annotations[v1beta1.AnnotationPostsBefore])
	if err != nil {
		return trigger, trigger
	}
	for i, m := range slices.Backward(s.Messages) {
		if _, number := cutNumber(m.Name); i > at && !byPerson(&m) && number <= before {
			at = i
			break
		}
	}
	return trigger, s.Messages[at].Name
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
