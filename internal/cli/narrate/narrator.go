// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"cmp"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/live"
)

// Narrator tells a chat. The zero value is not usable; see New.
type Narrator struct {
	chat     string
	messages map[string]bool
	begun    map[string]bool
	ended    map[string]bool
}

// New returns a narrator of a chat that has told nothing.
func New(chat string) *Narrator {
	return &Narrator{chat: chat, messages: map[string]bool{}, begun: map[string]bool{}, ended: map[string]bool{}}
}

// Skip takes everything in a snapshot for told.
func (n *Narrator) Skip(s live.Snapshot) { n.Tell(s) }

// Tell returns the lines about what is new in a snapshot.
func (n *Narrator) Tell(s live.Snapshot) []string {
	var items []item
	for i, m := range s.Messages {
		if !n.messages[m.Name] {
			n.messages[m.Name] = true
			items = append(items, item{m.CreationTimestamp.Time, rankOf(m), i, messageLines(m, s.Asks(n.chat))})
		}
	}
	n.walk(s.Tree(n.chat), 0, func(node *live.Node, depth int) {
		name := node.Task.Name
		if !n.begun[name] {
			n.begun[name] = true
			items = append(items, item{node.Task.CreationTimestamp.Time, rankBegun, len(items), beginLines(node, depth)})
		}
		if node.Over() && !n.ended[name] {
			n.ended[name] = true
			items = append(items, item{endOf(node), rankEnded, len(items), endLines(node, depth)})
		}
	})
	slices.SortStableFunc(items, item.compare)
	var lines []string
	for _, it := range items {
		lines = append(lines, it.lines...)
	}
	return lines
}

func (n *Narrator) walk(nodes []*live.Node, depth int, visit func(*live.Node, int)) {
	for _, node := range nodes {
		visit(node, depth)
		n.walk(node.Children, depth+1, visit)
	}
}

func endOf(n *live.Node) time.Time {
	if n.Task.Status.CompletionTime != nil {
		return n.Task.Status.CompletionTime.Time
	}
	return n.Task.CreationTimestamp.Time
}

// item is something to tell. Times have whole seconds; within one, what people say comes first, then what it led to.
type item struct {
	at    time.Time
	rank  int
	place int
	lines []string
}

const (
	rankSaid = iota
	rankBegun
	rankEnded
	rankPosted
)

func rankOf(m v1alpha1.AgentMessage) int {
	if m.Spec.Role == v1alpha1.RoleUser || m.Spec.Role == "" {
		return rankSaid
	}
	return rankPosted
}

func (i item) compare(o item) int {
	return cmp.Or(i.at.Truncate(time.Second).Compare(o.at.Truncate(time.Second)), cmp.Compare(i.rank, o.rank), cmp.Compare(i.place, o.place))
}
