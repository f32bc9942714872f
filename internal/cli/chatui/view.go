// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

// layout computes the size of all parts. The conversation gets the remaining height and stays scrolled to its end.
func (m Model) layout() Model {
	m.input.SetWidth(m.width)
	m.input.MaxHeight = max(1, min(6, m.height/4))
	m.input.SetHeight(m.input.Height())
	m.input.Placeholder = m.placeholder()
	if m.focused {
		m.input.Blur()
	} else {
		m.input.Focus()
	}
	s := m.conversation()
	m.blocks = s.blocks
	atEnd := m.pane.AtBottom()
	m.pane.SetWidth(m.width)
	m.pane.SetHeight(max(1, m.height-len(m.header())-len(m.panelLines())-m.input.Height()-2))
	m.pane.SetContentLines(s.lines)
	m.changes = m.changes.resize(m.width, m.height-len(m.header())-1)
	if atEnd {
		m.pane.GotoBottom()
	}
	if atEnd && m.focused {
		m = m.scrollToSelected()
	}
	return m.recordRead()
}

// panelLines returns the panel, limited to half of the window and to the height that header, input, rule, footer and
// one line of the conversation leave.
func (m Model) panelLines() []string {
	height := m.panelHeight()
	lines := m.panel(height)
	if len(lines) > height {
		lines = append(lines[:height-1:height-1], lines[len(lines)-1])
	}
	return lines
}

func (m Model) panelHeight() int {
	return max(2, min(m.height/2, m.height-len(m.header())-m.input.Height()-3))
}

func (m Model) placeholder() string {
	if question, questions := m.firstAsk(v1beta1.WaitingQuestion); questions > 0 && !m.toOrchestrator {
		return "Answer " + question.Task
	}
	return "Write a message"
}

// maxProblems bounds the lines of Problems.
const maxProblems = 2

// header renders the chat's name, phase and figures, and any problem.
func (m Model) header() []string {
	status := m.status()
	left := terminal.Bold.Render(m.chat) + terminal.Faint.Render(" "+m.namespace)
	right := "connecting"
	if m.loaded {
		right = terminal.Phase(string(status.Phase))
		if active := status.Tasks.Running + status.Tasks.Waiting + status.Tasks.Pending; active > 0 {
			right += fmt.Sprintf(" · %d active", active)
		}
		if status.Usage.TotalTokens > 0 {
			right += " · " + terminal.Count(status.Usage.TotalTokens) + " tokens"
		}
		if status.Usage.CostMicros != nil {
			right += " · cost " + terminal.Cost(status.Usage.CostMicros, status.Usage.Currency)
		}
	}
	right = terminal.Fit(right, m.width-terminal.Width(m.chat)-1)
	room := m.width - terminal.Width(right) - 1
	if terminal.Width(left) > room {
		left = terminal.Bold.Render(m.chat)
	}
	lines := []string{terminal.Fit(terminal.Pad(left, room)+" "+right, m.width)}
	for _, problem := range m.problems[:min(len(m.problems), maxProblems)] {
		lines = append(lines, m.noteLines("! "+terminal.Line(problem), terminal.Bad)...)
	}
	if problem := m.problem(); problem != "" {
		return append(lines, m.noteLines(problem, terminal.Bad)...)
	}
	if still := view.OfChat(m.snapshot.Chat(m.chat)); still != nil {
		lines = append(lines, m.noteLines(terminal.Line(still.String()), terminal.Warning)...)
	}
	return lines
}

// noteLines returns the lines of text below the header: what to do often comes last, so a window that is high enough shows more than one.
func (m Model) noteLines(text string, style lipgloss.Style) []string {
	lines := terminal.Wrap(text, m.width)
	if most := max(1, m.height/12); len(lines) > most {
		rest := strings.Join(lines[most-1:], " ")
		lines = append(lines[:most-1:most-1], terminal.Fit(rest, m.width))
	}
	for i, line := range lines {
		lines[i] = style.Render(terminal.Fit(line, m.width))
	}
	return lines
}

// problem returns why the chat does not work, or "".
func (m Model) problem() string {
	if m.snapshot.Err != nil {
		return "connection lost, retrying:  " + terminal.Line(m.snapshot.Err.Error())
	}
	if m.loaded && m.snapshot.Chat(m.chat) == nil {
		return "this chat has been deleted"
	}
	if still := view.OfChat(m.snapshot.Chat(m.chat)); still.Is(view.WaitStateBlocked) {
		return terminal.Line(still.Condition())
	}
	return ""
}

// footer renders the notice, or the keys of the focused part.
func (m Model) footer() string {
	switch {
	case m.notice.isError:
		return terminal.Bad.Render(terminal.Fit(terminal.Line(m.notice.text), m.width))
	case m.notice.text != "":
		return terminal.Fit(terminal.Line(m.notice.text), m.width)
	case m.focused && !m.pane.AtBottom():
		return terminal.Faint.Render(terminal.Fit("▼ more below · ↑↓ choose · enter open · ctrl+x cancel · tab write", m.width))
	case m.focused:
		return terminal.Faint.Render(terminal.Fit("↑↓ choose · enter open · ctrl+o open all · ctrl+x cancel · tab write", m.width))
	case !m.pane.AtBottom():
		return terminal.Faint.Render(terminal.Fit(fmt.Sprintf("▼ more below (%d%%) · pgdn · tab tasks · ctrl+c leave", int(m.pane.ScrollPercent()*100)), m.width))
	}
	return terminal.Faint.Render(terminal.Fit("enter send · alt+enter new line · tab tasks · pgup scroll · /help · ctrl+c leave", m.width))
}

func (m Model) View() tea.View {
	if m.changes.open() {
		return m.changesScreen()
	}
	rule := terminal.Faint.Render(strings.Repeat("─", m.width))
	top := append(m.header(), strings.Split(m.pane.View(), "\n")...)
	top = append(top, m.panelLines()...)
	top = append(top, rule)
	lines := append(top, strings.Split(m.input.View(), "\n")...)
	lines = append(lines, m.footer())
	v := m.newView(lines)
	if cursor := m.input.Cursor(); cursor != nil && !m.focused {
		cursor.Y += len(top)
		v.Cursor = cursor
	}
	return v
}

// newView returns a view of the whole window.
func (m Model) newView(lines []string) tea.View {
	for i, line := range lines {
		lines[i] = terminal.Fit(line, m.width)
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.WindowTitle = "nestor: " + m.chat
	return v
}

func inputStyles() textarea.Styles {
	plain := textarea.StyleState{Placeholder: terminal.Faint, Prompt: terminal.Accent}
	blurred := textarea.StyleState{Placeholder: terminal.Faint, Prompt: terminal.Faint, Text: lipgloss.NewStyle().Faint(true)}
	return textarea.Styles{Focused: plain, Blurred: blurred}
}
