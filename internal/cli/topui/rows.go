// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package topui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

type row struct {
	key                   string // unique on the screen
	namespace, name, kind string
	indent                string // the branches before the name of an agent
	phase, role           string
	iterations            int32
	waiting, active       int
	tokens                int64
	cost                  *int64
	currency              string
	since                 time.Time
	note                  string
	chat, task            string // what to open: a task, or the chat itself if task is empty
	run                   view.Run
}

// runRows returns the chats and standalone tasks of a snapshot in the order of view.Run.
func runRows(now view.Snapshot) []row {
	var rows []row
	for _, part := range now.ByNamespace() {
		for _, chat := range part.Chats {
			rows = append(rows, chatRow(part, chat))
		}
		for _, node := range part.Tree("") {
			r := nodeRow(part.Namespace, "", node)
			r.run = view.RunOfTask(&node.Task)
			count(&r, part.Asks(""), []*view.Node{node})
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Or(a.run.Compare(b.run), cmp.Compare(a.key, b.key)) })
	return rows
}

func chatRow(now view.Snapshot, chat v1beta1.AgentChat) row {
	tree := now.Tree(chat.Name)
	r := row{key: chat.Namespace + "/chat/" + chat.Name, namespace: chat.Namespace, name: chat.Name, kind: "chat", phase: string(cmp.Or(chat.Status.Phase, "Pending")),
		role: cmp.Or(chat.Spec.Role, "orchestrator"), tokens: chat.Status.Usage.TotalTokens, cost: chat.Status.Usage.CostMicros, currency: chat.Status.Usage.Currency, since: chat.CreationTimestamp.Time, chat: chat.Name, run: view.RunOfChat(&chat)}
	var below int64
	for _, node := range tree {
		below += node.Usage().TotalTokens
	}
	r.tokens = max(r.tokens, below) // the status of the chat is written less often than those of its agents
	if still := view.OfChat(&chat); still != nil {
		r.note = still.String()
	}
	count(&r, now.Asks(chat.Name), tree)
	return r
}

// count adds the active and the waiting agents of a tree to a row.
func count(r *row, asks []view.Ask, nodes []*view.Node) {
	r.active += countActive(nodes)
	for _, ask := range asks {
		if view.Find(nodes, ask.Task) == nil {
			continue
		}
		if r.waiting == 0 {
			r.note = describe(ask)
		}
		r.waiting++
	}
}

func countActive(nodes []*view.Node) int {
	active := 0
	for _, node := range nodes {
		if !node.Ended() {
			active++
		}
		active += countActive(node.Children)
	}
	return active
}

func describe(ask view.Ask) string {
	if ask.Kind == v1beta1.WaitingQuestion {
		return "asks: " + ask.Question
	}
	return "wants to run: " + ask.Tool + " " + terminal.JSON(ask.Arguments)
}

func agentRows(now view.Snapshot, chat, task string) []row {
	nodes := now.Tree(chat)
	if task != "" {
		nodes = nil
		if node := view.Find(now.Tree(chat), task); node != nil {
			nodes = []*view.Node{node}
		}
	}
	asks := now.Asks(chat)
	var rows []row
	var add func(nodes []*view.Node, indent string)
	add = func(nodes []*view.Node, indent string) {
		for i, node := range nodes {
			branch, rest := "├─ ", "│  "
			if i == len(nodes)-1 {
				branch, rest = "└─ ", "   "
			}
			r := nodeRow(now.Namespace, indent+branch, node)
			r.chat = chat
			for _, ask := range asks {
				if ask.Task == node.Task.Name {
					r.waiting++
					r.note = describe(ask)
				}
			}
			rows = append(rows, r)
			add(node.Children, indent+rest)
		}
	}
	add(nodes, "")
	return rows
}

func nodeRow(namespace, indent string, n *view.Node) row {
	usage := n.Usage()
	r := row{key: namespace + "/task/" + n.Task.Name, namespace: namespace, name: n.Task.Name, kind: "task", indent: indent, phase: n.Phase(), role: n.Role(),
		iterations: n.Iterations(), tokens: usage.TotalTokens, cost: usage.CostMicros, currency: usage.Currency, since: n.Task.CreationTimestamp.Time, task: n.Task.Name, chat: n.Task.Spec.Chat}
	r.note = n.Task.Spec.Instruction
	if progress := n.ToolProgress(); progress != "" {
		r.note = progress
	}
	if still := n.WaitState(); still != nil {
		r.note = still.String()
	}
	if e := n.Task.Status.Error; e != nil {
		r.note = string(e.Kind) + ": " + e.Message
	}
	return r
}

// detailLines returns what the agent of a task was asked, said and called, as far as its status has it.
func detailLines(now view.Snapshot, task string, width int) []string {
	t := now.Task(task)
	if t == nil {
		return []string{"The task has been deleted."}
	}
	lines := heading("Instruction", t.Spec.Instruction, width)
	if t.Spec.Arguments != nil {
		lines = append(lines, heading("Arguments", terminal.JSON(t.Spec.Arguments.Raw), width)...)
	}
	if agent := now.AgentOf(t); agent != nil {
		for i, m := range agent.Status.Messages {
			if i == 0 && m.Content == t.Spec.Instruction {
				continue // it is shown above
			}
			lines = append(lines, heading(string(m.Role), m.Content, width)...)
		}
		for _, call := range agent.Status.ToolCalls {
			lines = append(lines, terminal.Fit(terminal.Mark(markOf(call.Phase))+" "+terminal.Line(call.Tool+" "+view.Arguments(call)), width))
		}
	}
	if r := t.Status.Result; r != nil {
		lines = append(lines, heading("Result", strings.TrimSpace(r.Summary+"\n"+r.Details), width)...)
	}
	if e := t.Status.Error; e != nil {
		lines = append(lines, heading("Error", string(e.Kind)+": "+e.Message, width)...)
	}
	return append(lines, "", terminal.Faint.Render(terminal.Fit(fmt.Sprintf("All of it: kubectl nestor transcript %s -n %s -f", t.Name, t.Namespace), width)))
}

func markOf(phase v1beta1.ToolCallPhase) string {
	if phase == v1beta1.ToolCallDenied || phase == v1beta1.ToolCallUnknown {
		return "Failed"
	}
	return string(phase)
}

func heading(title, text string, width int) []string {
	text = strings.Trim(strings.TrimRight(terminal.Clean(text), " \n"), "\n") // the first line stays aligned with the others
	if text == "" {
		return nil
	}
	return append([]string{terminal.Accent.Render(title)}, terminal.Indent(terminal.Wrap(text, width-2), "  ")...)
}
