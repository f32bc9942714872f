// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package topui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

// Target is a chat, or a task if Task is not empty.
type Target struct{ Namespace, Chat, Task string }

// Text is a text about a target.
type Text string

// The texts of a target.
const (
	TextTranscript Text = "transcript"
	TextDiff       Text = "diff"
	TextYAML       Text = "YAML"
)

// Actions reads and acts in the cluster.
type Actions interface {
	Read(ctx context.Context, of Target, text Text) (string, error)
	// Call returns a call that needs approval, with every character visible, and what it would change.
	Call(ctx context.Context, namespace string, ask view.Ask) (string, error)
	// Decide decides about a call, with the decision and the arguments of an approval.
	Decide(ctx context.Context, namespace string, ask view.Ask, approval v1beta1.Approval) error
	Edit(ctx context.Context, namespace string, ask view.Ask) terminal.Editor
	Answer(ctx context.Context, namespace string, ask view.Ask, text string) error
	Cancel(ctx context.Context, what Target) error
}

// target returns the selected chat or task. It reports false if there is none.
func (m Model) target() (Target, bool) {
	r := m.agent
	if m.level < levelDetail {
		rows := m.rows()
		if len(rows) == 0 {
			return Target{m.run.namespace, m.run.chat, m.run.task}, m.level == levelAgents
		}
		r = rows[m.index(rows)]
	}
	return Target{r.namespace, r.chat, r.task}, true
}

func (t Target) name() string {
	if t.Task != "" {
		return t.Task
	}
	return t.Chat
}

// ask returns the first ask of a kind in the selected work.
func (m Model) ask(kind v1beta1.WaitingKind) (Target, *view.Ask) {
	t, ok := m.target()
	if !ok {
		return t, nil
	}
	part := m.partOf(t.Namespace)
	nodes := part.Tree(t.Chat)
	if t.Task != "" {
		node := view.Find(nodes, t.Task)
		if node == nil {
			return t, nil
		}
		nodes = []*view.Node{node}
	}
	for _, ask := range part.Asks(t.Chat) {
		if ask.Kind == kind && view.Find(nodes, ask.Task) != nil {
			return t, &ask
		}
	}
	return t, nil
}

// textRead is sent when a text has been read, acted when an action has ended.
type (
	textRead struct {
		id   int // of the pager
		text string
		err  error
	}
	acted struct {
		done string
		err  error
	}
)

func (m Model) read(text Text) (tea.Model, tea.Cmd) {
	t, ok := m.target()
	if !ok {
		return m, nil
	}
	m.reads++
	m.pager = &pager{id: m.reads, title: string(text) + " of " + t.name(), loading: true, detail: text == TextTranscript}
	return m, func() tea.Msg {
		content, err := m.actions.Read(m.ctx, t, text)
		return textRead{m.reads, content, err}
	}
}

// showCall shows the call that waits for approval in the selected work. It can be decided when all of it is on the screen.
func (m Model) showCall() (tea.Model, tea.Cmd) {
	t, ask := m.ask(v1beta1.WaitingApproval)
	if ask == nil {
		m.notice = "nothing here waits for an approval"
		return m, nil
	}
	m.reads++
	m.pager = &pager{id: m.reads, title: "call of " + ask.Task + " (" + ask.Role + ")", loading: true, namespace: t.Namespace, ask: ask}
	return m, func() tea.Msg {
		content, err := m.actions.Call(m.ctx, t.Namespace, *ask)
		return textRead{m.reads, content, err}
	}
}

func (m Model) decide(approval v1beta1.Approval) (tea.Model, tea.Cmd) {
	p := m.pager
	switch {
	case !p.ready || p.failed && approval.Decision == v1beta1.DecisionApprove:
		return m, nil
	case approval.Decision == v1beta1.DecisionApprove && !p.read(m.room()):
		m.notice = "read the whole call first: pgdn shows the rest"
		return m, nil
	}
	m.pager = nil
	done := fmt.Sprintf("%s: %s of %s", map[v1beta1.Decision]string{v1beta1.DecisionApprove: "approved", v1beta1.DecisionDeny: "denied"}[approval.Decision], p.ask.Tool, p.ask.Task)
	return m, func() tea.Msg { return acted{done, m.actions.Decide(m.ctx, p.namespace, *p.ask, approval)} }
}

// edited is the end of the editor with the arguments of a call.
type edited struct {
	id        int // of the pager that shows the call
	arguments string
	err       error
}

// edit opens the arguments of the shown call in the person's editor.
func (m Model) edit() (tea.Model, tea.Cmd) {
	p := m.pager
	if !p.ready || p.failed || !p.ask.Editable {
		return m, nil
	}
	editor := m.actions.Edit(m.ctx, p.namespace, *p.ask)
	return m, tea.Exec(editor, func(err error) tea.Msg { return edited{p.id, editor.Edited(), err} })
}

// onEdited approves the call with the changed arguments, unless the person has left it.
func (m Model) onEdited(e edited) (tea.Model, tea.Cmd) {
	switch {
	case e.err != nil:
		m.notice = "error: " + e.err.Error()
		return m, nil
	case m.pager == nil || m.pager.id != e.id:
		return m, nil
	}
	return m.decide(v1beta1.Approval{Decision: v1beta1.DecisionApprove, Arguments: e.arguments})
}

// startAnswer opens the input for the answer to a question of the selected work.
func (m Model) startAnswer() Model {
	t, ask := m.ask(v1beta1.WaitingQuestion)
	if ask == nil {
		m.notice = "nothing here waits for an answer"
		return m
	}
	m.input = &input{prompt: ask.Task + " asks: " + terminal.Line(ask.Question) + " ❯ ", namespace: t.Namespace, ask: ask}
	return m
}

func (m Model) answer() (tea.Model, tea.Cmd) {
	in := m.input
	m.input = nil
	if strings.TrimSpace(in.text) == "" {
		return m, nil
	}
	return m, func() tea.Msg {
		return acted{"answered " + in.ask.Task, m.actions.Answer(m.ctx, in.namespace, *in.ask, in.text)}
	}
}

// cancel cancels the selected work when the key is pressed twice.
func (m Model) cancel() (tea.Model, tea.Cmd) {
	t, ok := m.target()
	if !ok {
		return m, nil
	}
	if m.pendingCancel != t {
		m.pendingCancel = t
		m.notice = fmt.Sprintf("press ctrl+x again to cancel %s and everything below it", t.name())
		return m, nil
	}
	m.pendingCancel = Target{}
	return m, func() tea.Msg { return acted{"cancelled " + t.name(), m.actions.Cancel(m.ctx, t)} }
}
