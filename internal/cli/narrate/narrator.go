// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"cmp"
	"slices"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

// Narrator prints a chat. Use New.
type Narrator struct {
	chat      string
	messages  map[string]bool
	started   map[string]bool
	ended     map[string]bool
	hinted    map[string]bool
	waitState map[string]string // the printed wait of a chat or task, by name
}

// New returns a narrator of a chat that has printed nothing.
func New(chat string) *Narrator {
	return &Narrator{chat: chat, messages: map[string]bool{}, started: map[string]bool{}, ended: map[string]bool{}, hinted: map[string]bool{}, waitState: map[string]string{}}
}

// Skip marks everything in a snapshot as printed.
func (n *Narrator) Skip(s view.Snapshot) { n.Lines(s) }

// Lines returns the lines about what is new in a snapshot: messages in order, a task after the message that led to it,
// and its end before the answer that it led to.
func (n *Narrator) Lines(s view.Snapshot) []string {
	var fresh []v1beta1.AgentMessage
	for _, m := range s.Messages {
		if !n.messages[m.Name] {
			n.messages[m.Name] = true
			fresh = append(fresh, m)
		}
	}
	var items []item
	for i, m := range fresh {
		items = append(items, item{i, rankMessage, messageLines(m)})
	}
	for _, root := range s.Tree(n.chat) {
		items = append(items, n.taskItems(root, 0, startPlace(root, fresh), endPlace(root, fresh))...)
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.rank, b.rank)) })
	var lines []string
	for _, it := range items {
		lines = append(lines, it.lines...)
	}
	return append(append(lines, n.hints(s)...), n.waitStates(s)...)
}

// waitStates returns lines about a paused chat and about work that waits for a provider or a quota, once until it
// ends.
func (n *Narrator) waitStates(s view.Snapshot) []string {
	var lines []string
	add := func(name, subject string, still *view.WaitState) {
		if still == nil {
			delete(n.waitState, name)
			return
		}
		if n.waitState[name] != still.Reason {
			n.waitState[name] = still.Reason
			lines = append(lines, terminal.Warning.Render("  "+subject+" "+terminal.Line(still.String())))
		}
	}
	switch still := view.OfChat(s.Chat(n.chat)); {
	case still.Is(view.WaitStateBlocked): // the caller reports it
	case still.Is(view.WaitStatePaused):
		add("", "the chat is", still)
	default:
		add("", "the chat", still)
	}
	for _, root := range s.Tree(n.chat) {
		eachNode(root, func(node *view.Node) {
			add(node.Task.Name, node.Task.Name+" ("+node.Role()+")", node.WaitState())
		})
	}
	return lines
}

func eachNode(node *view.Node, do func(*view.Node)) {
	do(node)
	for _, child := range node.Children {
		eachNode(child, do)
	}
}

// item is a group of lines, placed before, with or after a message.
type item struct {
	place, rank int
	lines       []string
}

const (
	rankBefore = iota
	rankMessage
	rankAfter
)

// taskItems returns the items about a task and those below it that were not printed yet.
func (n *Narrator) taskItems(node *view.Node, depth, begin, end int) []item {
	name := node.Task.Name
	var items []item
	if !n.started[name] {
		n.started[name] = true
		items = append(items, item{begin, rankAfter, beginLines(node, depth)})
	}
	for _, child := range node.Children {
		items = append(items, n.taskItems(child, depth+1, begin, end)...)
	}
	if node.Ended() && !n.ended[name] {
		n.ended[name] = true
		items = append(items, item{end, rankBefore, endLines(node, depth)})
	}
	return items
}

// startPlace returns the place of the message that led to a task, or the first place if that was printed before.
func startPlace(node *view.Node, fresh []v1beta1.AgentMessage) int {
	return slices.IndexFunc(fresh, func(m v1beta1.AgentMessage) bool { return m.Name == node.Task.Spec.TriggerMessage })
}

// endPlace returns the place of the answer that a task led to, which is the last reply to the same message, or the last
// place.
func endPlace(node *view.Node, fresh []v1beta1.AgentMessage) int {
	for i, m := range slices.Backward(fresh) {
		if m.Spec.Task == node.Task.Name {
			break // a later question
		}
		if m.Spec.InReplyTo != "" && m.Spec.InReplyTo == node.Task.Spec.TriggerMessage {
			return i
		}
	}
	return len(fresh)
}

// hints returns the commands that resolve the open asks, once each ask has been printed.
func (n *Narrator) hints(s view.Snapshot) []string {
	var lines []string
	for _, ask := range s.Asks(n.chat) {
		if n.hinted[ask.Key()] || !n.messages[ask.Message] {
			continue
		}
		n.hinted[ask.Key()] = true
		lines = append(lines, terminal.Faint.Render("  "+Hint(ask)))
	}
	return lines
}
