// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/live"
)

// Update implements tea.Model.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case Updated:
		m, cmd = m.updated(live.Snapshot(msg))
	case Piece:
		m = m.streamed(msg)
	case ticked:
		m.now, cmd = time.Time(msg), tick()
		m = m.forgetReply()
	case armed:
		m.prompt = m.prompt.arm(msg)
	case acted:
		m = m.acted(msg)
	case fetched:
		m = m.fetched(msg)
	case Ended:
		m.notice = notice{fmt.Sprintf("lost the watch of the chat: %v", msg.Err), true}
	case tea.KeyPressMsg:
		m, cmd = m.press(msg)
	case tea.PasteMsg:
		m.focused, m.notice = false, notice{}
		m.input, cmd = m.input.Update(msg)
	default:
		m.input, cmd = m.input.Update(msg)
	}
	return m.layout(), cmd
}

// updated handles a snapshot.
func (m Model) updated(s live.Snapshot) (Model, tea.Cmd) {
	m.snapshot, m.seen = s, true
	if m.posted(m.streams[""]) {
		delete(m.streams, "") // a message has the streamed reply now
	}
	for agent := range m.streams {
		if task := s.Task(agent); task != nil && live.Over(task.Status.Phase) {
			delete(m.streams, agent)
		}
	}
	if _, questions := m.asked(v1alpha1.WaitingQuestion); questions == 0 {
		m.aside = false
	}
	ask, approvals := m.asked(v1alpha1.WaitingApproval)
	if approvals == 0 {
		m.prompt = prompt{}
		return m, nil
	}
	var cmd tea.Cmd
	m, cmd = m.showApproval(ask)
	return m, cmd
}

// showApproval shows a call in the panel and, if the status has only the beginning, fetches the rest.
func (m Model) showApproval(ask live.Ask) (Model, tea.Cmd) {
	shown := m.prompt.key == ask.Key()
	var cmd tea.Cmd
	m.prompt, cmd = m.prompt.show(ask.Key())
	if shown || !ask.Cut {
		return m, cmd
	}
	return m, tea.Batch(cmd, m.fetch(ask))
}

// fetched is a call with its full arguments, or the error of reading them.
type fetched struct {
	ask live.Ask
	err error
}

func (m Model) fetch(ask live.Ask) tea.Cmd {
	return func() tea.Msg {
		whole, err := m.actions.Whole(m.ctx, ask)
		return fetched{whole, err}
	}
}

func (m Model) fetched(f fetched) Model {
	if f.err != nil {
		m.notice = notice{f.err.Error(), true}
		return m
	}
	m.whole = f.ask
	return m
}

// recentMessages limits the search for the message of a reply.
const recentMessages = 8

// posted reports whether a recent message of the orchestrator has the reply, as far as it has streamed in.
func (m Model) posted(reply string) bool {
	reply = strings.TrimSpace(reply)
	messages := m.snapshot.Messages
	for _, message := range messages[max(0, len(messages)-recentMessages):] {
		content := strings.TrimSpace(message.Spec.Content)
		if message.Spec.Role != v1alpha1.RoleAssistant || reply == "" || content == "" {
			continue
		}
		if strings.HasPrefix(content, reply) || strings.HasPrefix(reply, content) { // a long one is posted in parts
			return true
		}
	}
	return false
}

// postTime is how long a complete reply stays without a message: some replies of an orchestrator are not posted.
const postTime = 5 * time.Second

// forgetReply drops a complete reply that was not posted within postTime.
func (m Model) forgetReply() Model {
	if !m.said.IsZero() && m.now.Sub(m.said) > postTime {
		delete(m.streams, "")
		m.said = time.Time{}
	}
	return m
}

func (m Model) streamed(p Piece) Model {
	if p.Agent == "" {
		m.said = time.Time{}
	}
	if p.Said != "" {
		m.streams[""], m.said = p.Said, m.now
		if m.posted(p.Said) {
			delete(m.streams, "")
		}
		return m
	}
	if p.Reset {
		delete(m.streams, p.Agent)
	}
	if p.Text != "" {
		m.streams[p.Agent] += p.Text
	}
	return m
}

// acted is the outcome of an action of the person.
type acted struct {
	done string // the notice for success
	text string // the input to restore after a failure
	err  error
}

func (m Model) acted(a acted) Model {
	if a.err == nil {
		m.notice = notice{a.done, false}
		return m
	}
	m.notice = notice{a.err.Error(), true}
	m.prompt.decided = false
	if m.input.Value() == "" {
		m.input.SetValue(a.text)
	}
	return m
}
