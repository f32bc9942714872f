// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/view"
)

// submit runs the command in the input.
func (m Model) submit() (Model, tea.Cmd) {
	text := strings.TrimSpace(m.input.Value())
	if text == "" {
		return m, nil
	}
	c, err := Parse(text, func(name string) bool { return m.snapshot.Task(name) != nil })
	if err != nil {
		m.notice = notice{err.Error(), true}
		return m, nil
	}
	m.input.Reset()
	m.recall = recall{lines: append(m.recall.lines, text)}
	m.pane.GotoBottom()
	switch c.Verb {
	case "quit":
		return m, tea.Quit
	case "help":
		m.notice = notice{Help, false}
		return m, nil
	case "attach":
		return m, m.attach(c.Text)
	case "approve":
		return m.decideNamed(c, v1beta1.DecisionApprove)
	case "deny":
		return m.decideNamed(c, v1beta1.DecisionDeny)
	case "cancel":
		return m, m.cancel(c.Task)
	case "role", "model":
		return m, m.set(c.Verb, c.Text)
	case "new":
		return m, m.create(c.Text)
	case "diff":
		return m.openDiff()
	}
	return m, m.sendMessage(c.Text)
}

// sendMessage sends a message: to the agent whose question is shown, or to the orchestrator.
func (m Model) sendMessage(text string) tea.Cmd {
	question, questions := m.firstAsk(v1beta1.WaitingQuestion)
	done, inReplyTo := "", ""
	if questions > 0 && !m.toOrchestrator {
		inReplyTo, done = question.Message, "answered "+question.Task
	}
	return func() tea.Msg {
		return actionDone{done: done, text: text, err: m.actions.Send(m.ctx, text, inReplyTo)}
	}
}

func (m Model) set(field, value string) tea.Cmd {
	return func() tea.Msg {
		done := fmt.Sprintf("the %s is %s from the next turn on", field, value)
		return actionDone{done: done, text: "/" + field + " " + value, err: m.actions.Set(m.ctx, field, value)}
	}
}

// created is sent when a chat was created to continue there.
type created string

func (m Model) create(name string) tea.Cmd {
	return func() tea.Msg {
		chat, err := m.actions.New(m.ctx, name)
		if err != nil {
			return actionDone{text: strings.TrimSpace("/new " + name), err: err}
		}
		return created(chat)
	}
}

func (m Model) attach(path string) tea.Cmd {
	return func() tea.Msg {
		return actionDone{done: "attached " + path + " to the next message", text: "/attach " + path, err: m.actions.Attach(path)}
	}
}

func (m Model) cancel(task string) tea.Cmd {
	done := "cancelled " + task
	if task == "" {
		done = "cancelled everything"
	}
	return func() tea.Msg { return actionDone{done: done, err: m.actions.Cancel(m.ctx, task)} }
}

// decide decides about the shown call; the input becomes the comment.
func (m Model) decide(approval v1beta1.Approval) (Model, tea.Cmd) {
	ask, approvals := m.firstAsk(v1beta1.WaitingApproval)
	switch {
	case approvals == 0:
		m.notice = notice{"nothing waits for an approval", false}
		return m, nil
	case m.prompt.decided:
		return m, nil
	case !m.prompt.ready:
		m.notice = notice{"this call has only just appeared: read it, then press the key again", true}
		return m, nil
	}
	if approval.Decision == v1beta1.DecisionApprove {
		switch {
		case ask.Truncated:
			m.notice = notice{"the full call has not arrived yet: fetching it again", true}
			return m, m.fetch(ask)
		case !m.prompt.read:
			m.prompt.expanded = true
			m.notice = notice{"read the whole call first: pgdn shows the rest", true}
			return m, nil
		}
	}
	approval.Comment = strings.TrimSpace(m.input.Value())
	m.input.Reset()
	m.prompt.decided = true
	return m, m.decideOn(ask, approval)
}

// edited is the end of the editor with the arguments of a call.
type edited struct {
	call      string
	arguments string
	err       error
}

// edit opens the arguments of the shown call in the person's editor.
func (m Model) edit(ask view.Ask) (Model, tea.Cmd) {
	if !m.prompt.ready || m.prompt.decided {
		return m, nil
	}
	editor := m.actions.Edit(m.ctx, ask)
	return m, tea.Exec(editor, func(err error) tea.Msg { return edited{ask.Key(), editor.Edited(), err} })
}

// onEdited approves the call with the changed arguments, unless another call is shown by now.
func (m Model) onEdited(e edited) (Model, tea.Cmd) {
	switch ask, _ := m.firstAsk(v1beta1.WaitingApproval); {
	case e.err != nil:
		m.notice = notice{e.err.Error(), true}
		return m, nil
	case ask.Key() != e.call:
		m.notice = notice{"the call does not wait any more", true}
		return m, nil
	}
	m.prompt.read = true // the editor had all of it
	return m.decide(v1beta1.Approval{Decision: v1beta1.DecisionApprove, Arguments: e.arguments})
}

// decideNamed decides about the call of the task that a command names, or about the shown one.
func (m Model) decideNamed(c Command, d v1beta1.Decision) (Model, tea.Cmd) {
	for _, ask := range m.snapshot.Asks(m.chat) {
		if ask.Kind != v1beta1.WaitingApproval || (c.Task != "" && ask.Task != c.Task) {
			continue
		}
		if d == v1beta1.DecisionApprove && (ask.Truncated || len(argumentLines(ask.Arguments, m.width-4)) > maxRequestLines+1) {
			m.chosenCall = ask.Key()
			m.notice = notice{"the call is long: read it below, then press ctrl+y", true}
			return m.showApproval(ask)
		}
		return m, m.decideOn(ask, v1beta1.Approval{Decision: d, Comment: c.Text})
	}
	m.notice = notice{"nothing waits for an approval", false}
	if c.Task != "" {
		m.notice = notice{fmt.Sprintf("%s does not wait for an approval", c.Task), true}
	}
	return m, nil
}

func (m Model) decideOn(ask view.Ask, approval v1beta1.Approval) tea.Cmd {
	done := fmt.Sprintf("approved %s of %s", ask.Tool, ask.Task)
	switch {
	case approval.Decision == v1beta1.DecisionDeny:
		done = fmt.Sprintf("denied %s of %s", ask.Tool, ask.Task)
	case approval.Arguments != "":
		done += " with changed arguments"
	}
	return func() tea.Msg {
		return actionDone{done: done, text: approval.Comment, err: m.actions.Decide(m.ctx, ask, approval)}
	}
}
