// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Node is a task with its sub-agent and the tasks that the sub-agent delegated.
type Node struct {
	Task     v1beta1.AgentTask
	Agent    *v1beta1.SubAgent // nil for a task of type Tool, and before the agent exists
	Children []*Node
}

// Tree returns the tasks of a chat, or the standalone ones if the name is empty, in the order in which they were asked
// for.
func (s Snapshot) Tree(chat string) []*Node {
	nodes, agents := map[string]*Node{}, s.agents()
	for _, task := range s.Tasks {
		if task.Spec.Chat == chat {
			nodes[AgentName(&task)] = &Node{Task: task, Agent: agents.of(&task)} // children name their parent's sub-agent
		}
	}
	var roots []*Node
	for name, node := range nodes {
		parent := nodes[node.Task.Labels[v1beta1.LabelParent]]
		if parent == nil || name == AgentName(&parent.Task) {
			roots = append(roots, node)
			continue
		}
		parent.Children = append(parent.Children, node)
	}
	sortNodes(roots)
	for _, node := range nodes {
		sortNodes(node.Children)
	}
	return roots
}

// Find returns the node of a task in a tree, or nil.
func Find(nodes []*Node, task string) *Node {
	for _, node := range nodes {
		if node.Task.Name == task {
			return node
		}
		if match := Find(node.Children, task); match != nil {
			return match
		}
	}
	return nil
}

// sortNodes sorts siblings in the order in which they were asked for. Tasks of one reply are created at once, in any
// order.
func sortNodes(nodes []*Node) {
	slices.SortFunc(nodes, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(ordinal(&a.Task), ordinal(&b.Task)), a.Task.CreationTimestamp.Compare(b.Task.CreationTimestamp.Time),
			compareNumbered(a.Task.Name, b.Task.Name))
	})
}

// ordinal returns the number that the parent gave a task, which follows the parent's name. Tasks that people created
// have none and come last.
func ordinal(task *v1beta1.AgentTask) int {
	parent := cmp.Or(task.Labels[v1beta1.LabelParent], task.Spec.Chat)
	number, numbered := strings.CutPrefix(task.Name, parent+"-")
	number, _, _ = strings.Cut(number, "-") // a suffix follows if the name was taken
	if n, err := strconv.Atoi(number); numbered && parent != "" && err == nil {
		return n
	}
	return math.MaxInt
}

// Phase returns the phase of the sub-agent while it runs, because it is more detailed than the task's.
func (n *Node) Phase() string {
	if n.Task.Status.Phase == v1beta1.TaskRunning && n.Agent != nil && n.Agent.Status.Phase == v1beta1.SubAgentWaitingForSubAgents {
		return string(n.Agent.Status.Phase)
	}
	return string(cmp.Or(n.Task.Status.Phase, v1beta1.TaskPending))
}

// Badge returns the state of the work.
func (n *Node) Badge() Badge {
	status := n.Task.Status
	delegates := n.Agent != nil && n.Agent.Status.Phase == v1beta1.SubAgentWaitingForSubAgents
	switch {
	case status.Phase == v1beta1.TaskSuccess:
		return BadgeSuccess
	case status.Phase == v1beta1.TaskCancelled, status.Phase == v1beta1.TaskFailed && n.failedWith(v1beta1.ErrorCancelled):
		return BadgeCancelled
	case status.Phase == v1beta1.TaskFailed && n.failedWith(v1beta1.ErrorTimedOut):
		return BadgeTimedOut
	case status.Phase == v1beta1.TaskFailed:
		return BadgeFailed
	case n.Task.Spec.Cancel || n.Agent != nil && n.Agent.Status.Phase == v1beta1.SubAgentCancelling:
		return BadgeCancelling
	case status.Phase == v1beta1.TaskWaiting:
		return BadgeWaiting
	case status.Phase == v1beta1.TaskRunning && delegates:
		return BadgeDelegating
	case status.Phase == v1beta1.TaskRunning:
		return BadgeRunning
	}
	return BadgePending
}

func (n *Node) failedWith(kind v1beta1.ErrorKind) bool {
	return n.Task.Status.Error != nil && n.Task.Status.Error.Kind == kind
}

// Role returns the role, or the tool of a task of type Tool.
func (n *Node) Role() string { return cmp.Or(n.Task.Spec.Role, n.Task.Spec.Tool) }

// Ended reports whether the work has ended.
func (n *Node) Ended() bool { return Ended(n.Task.Status.Phase) }

// Ended reports whether the phase is final.
func Ended(phase v1beta1.TaskPhase) bool {
	return phase == v1beta1.TaskSuccess || phase == v1beta1.TaskFailed || phase == v1beta1.TaskCancelled
}

// Iterations returns the number of model calls so far.
func (n *Node) Iterations() int32 {
	if n.Agent != nil {
		return max(n.Agent.Status.Iterations, n.Task.Status.Iterations)
	}
	return n.Task.Status.Iterations
}

// Usage returns the usage of the work so far, including its children.
func (n *Node) Usage() v1beta1.Usage {
	if n.Agent != nil && n.Agent.Status.Usage.TotalTokens > n.Task.Status.Usage.TotalTokens {
		return n.Agent.Status.Usage
	}
	return n.Task.Status.Usage
}
