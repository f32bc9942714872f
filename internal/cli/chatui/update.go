// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/live"
)

// Update is what the model becomes by what happened.
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
	case armed:
		m.prompt = m.prompt.arm(msg)
	case acted:
		m = m.acted(msg)
	case Ended:
		m.notice = notice{fmt.Sprintf("the chat cannot be watched any more: %v", msg.Err), true}
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

// updated takes in a snapshot.
func (m Model) updated(s live.Snapshot) (Model, tea.Cmd) {
	known := len(m.snapshot.Messages)
	m.snapshot, m.seen = s, true
	if len(s.Messages) > known {
		// What streamed in stands in a message now.
		for _, message := range s.Messages[known:] {
			if message.Spec.Role == v1alpha1.RoleAssistant {
				delete(m.streams, "")
			}
		}
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
	m.prompt, cmd = m.prompt.show(ask.Key())
	return m, cmd
}

func (m Model) streamed(p Piece) Model {
	if p.Reset {
		delete(m.streams, p.Agent)
	}
	if p.Text != "" {
		m.streams[p.Agent] += p.Text
	}
	return m
}

// acted is the outcome of something that the person did.
type acted struct {
	done string // what to say of it
	text string // what to put back into the input if it failed
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
