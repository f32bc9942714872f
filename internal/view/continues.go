// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Continues reports whether some work of a chat continues without a person, although other work may wait for one. A
// task that waits counts as continuing until the asks of the chat contain its ask, because its status is written first.
func (s Snapshot) Continues(chat string) bool {
	asks := s.Asks(chat)
	return slices.ContainsFunc(s.Tree(chat), func(n *Node) bool { return n.continues(asks) })
}

func (n *Node) continues(asks []Ask) bool {
	if slices.ContainsFunc(n.Children, func(child *Node) bool { return child.continues(asks) }) {
		return true
	}
	switch n.Task.Status.Phase {
	case "":
		return true
	case v1beta1.TaskPending:
		c := meta.FindStatusCondition(n.Task.Status.Conditions, v1beta1.ConditionSucceeded)
		return c == nil || c.Reason == v1beta1.ReasonPending // others wait for a reference or for a slot
	case v1beta1.TaskRunning:
		waits := n.Agent != nil && n.Agent.Status.Phase == v1beta1.SubAgentWaitingForSubAgents
		return !waits || !slices.ContainsFunc(n.Children, func(child *Node) bool { return !child.Ended() }) // it continues when the last child has ended
	case v1beta1.TaskWaiting:
		return n.Task.Status.Waiting != nil && !waitsForDescendant(n.Task) && !slices.ContainsFunc(asks, func(a Ask) bool { return a.Task == n.Task.Name })
	}
	return false
}
