// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

// treeReport is the output of tree with -o json or yaml.
type treeReport struct {
	Items []treeNode `json:"items"`
}

// treeNode is a chat or a task in the output of tree.
type treeNode struct {
	Kind         string        `json:"kind"`
	Namespace    string        `json:"namespace"`
	Name         string        `json:"name"`
	Phase        string        `json:"phase"`
	Role         string        `json:"role,omitempty"`
	Tool         string        `json:"tool,omitempty"`
	Iterations   int32         `json:"iterations,omitempty"`
	Usage        v1beta1.Usage `json:"usage,omitzero"`
	CreationTime time.Time     `json:"creationTime"`
	Waiting      []waitingItem `json:"waiting,omitempty"`
	// WaitState is why the work makes no progress: a pause of the chat, or a wait for a provider or a quota.
	WaitState string `json:"waitState,omitempty"`
	// Progress is what a running tool reports.
	Progress string     `json:"progress,omitempty"`
	Error    string     `json:"error,omitempty"`
	Children []treeNode `json:"children,omitempty"`
}

type waitingItem struct {
	Kind v1beta1.WaitingKind `json:"kind"`
	Text string              `json:"text"`
	Call string              `json:"toolCall,omitempty"`
}

// buildTrees returns the trees of a snapshot, chats first, or only the tree under a task.
func buildTrees(now view.Snapshot, task string) []treeNode {
	var trees []treeNode
	if task == "" {
		for _, chat := range now.Chats {
			trees = append(trees, treeNode{
				Kind: "AgentChat", Namespace: chat.Namespace, Name: chat.Name, Phase: string(cmp.Or(chat.Status.Phase, "Pending")), Role: chat.Spec.Role, Usage: chat.Status.Usage,
				CreationTime: chat.CreationTimestamp.Time, Children: treeNodes(now, now.Tree(chat.Name), chat.Name),
			})
			last := &trees[len(trees)-1]
			switch still := view.OfChat(&chat); {
			case still.Is(view.WaitStateBlocked):
				last.Error = still.Condition()
			case still != nil:
				last.WaitState = still.String()
			}
		}
		return append(trees, treeNodes(now, now.Tree(""), "")...)
	}
	chat := ""
	if t := now.Task(task); t != nil {
		chat = t.Spec.Chat
	}
	if node := view.Find(now.Tree(chat), task); node != nil {
		return treeNodes(now, []*view.Node{node}, chat)
	}
	return nil
}

func treeNodes(now view.Snapshot, nodes []*view.Node, chat string) []treeNode {
	asks := now.Asks(chat)
	var all []treeNode
	for _, n := range nodes {
		b := treeNode{
			Kind: "AgentTask", Namespace: n.Task.Namespace, Name: n.Task.Name, Phase: n.Phase(), Role: n.Task.Spec.Role, Tool: n.Task.Spec.Tool, Iterations: n.Iterations(),
			Usage: n.Usage(), CreationTime: n.Task.CreationTimestamp.Time, Children: treeNodes(now, n.Children, chat),
		}
		for _, a := range asks {
			if a.Task == b.Name {
				b.Waiting = append(b.Waiting, waitingItem{a.Kind, cmp.Or(a.Question, a.Tool+" "+terminal.JSON(a.Arguments)), a.Call})
			}
		}
		if still := n.WaitState(); still != nil {
			b.WaitState = still.String()
		}
		b.Progress = n.ToolProgress()
		if e := n.Task.Status.Error; e != nil {
			b.Error = string(e.Kind) + ": " + e.Message
		}
		all = append(all, b)
	}
	return all
}

// treeNames returns the names of everything in the trees, in kubectl's form.
func treeNames(trees []treeNode) []string {
	var all []string
	for _, b := range trees {
		all = append(append(all, resource(b.Kind, b.Name)), treeNames(b.Children)...)
	}
	return all
}

// resource returns a name in kubectl's form.
func resource(kind, name string) string { return strings.ToLower(kind) + ".nestor.dev/" + name }

// noteWidth limits the width of the last column.
const noteWidth = 60

// printTrees prints trees as a table, with the namespace of each row if they are of several.
func printTrees(out io.Writer, trees []treeNode, now time.Time, namespaces bool, width int) {
	table := terminal.Table{Heading: []string{"NAMESPACE", "NAME", "PHASE", "ROLE", "ITERATIONS", "TOKENS", "COST", "AGE", "NOTE"}}
	for _, b := range trees {
		addRows(&table, b, "", "", now)
	}
	if !namespaces {
		table = table.Without(0)
	}
	table.FitLast(width, "ITERATIONS", "COST", "TOKENS", "AGE", "ROLE").Print(out)
}

// addRows adds the rows of a node and its children to the table. first is the prefix of its name, rest that of its
// children.
func addRows(table *terminal.Table, b treeNode, first, rest string, now time.Time) {
	iterations := "-"
	if b.Kind == "AgentTask" && b.Tool == "" {
		iterations = strconv.Itoa(int(b.Iterations))
	}
	table.Rows = append(table.Rows, []string{
		b.Namespace, terminal.Faint.Render(first) + b.Name, terminal.Phase(b.Phase), roleOf(b), iterations,
		terminal.Count(b.Usage.TotalTokens), terminal.Cost(b.Usage.CostMicros, b.Usage.Currency), terminal.Since(b.CreationTime, now), noteOf(b),
	})
	for i, child := range b.Children {
		if i == len(b.Children)-1 {
			addRows(table, child, rest+"└─ ", rest+"   ", now)
			continue
		}
		addRows(table, child, rest+"├─ ", rest+"│  ", now)
	}
}

func roleOf(b treeNode) string {
	if b.Tool != "" {
		return b.Tool + " (tool)"
	}
	return b.Role
}

// noteOf returns the note on a node: what it waits for, its wait state, its error, or the progress of a tool.
func noteOf(b treeNode) string {
	note := cmp.Or(b.Error, b.WaitState, b.Progress)
	for _, w := range b.Waiting {
		if w.Kind == v1beta1.WaitingQuestion {
			note = "asks: " + w.Text
			break
		}
		note = "wants to run: " + w.Text
	}
	if len(b.Waiting) > 1 {
		note = fmt.Sprintf("(%d) %s", len(b.Waiting), note)
	}
	return terminal.Fit(terminal.Line(note), noteWidth)
}
