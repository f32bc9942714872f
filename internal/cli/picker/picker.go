// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package picker lets a person choose one of several rows on a terminal. Model is a Bubble Tea model.
package picker

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

// Option is a row to choose.
type Option struct {
	// Name is what Model.Chosen returns.
	Name string
	// Line is the text of the row. It must be clean.
	Line string
}

// Model is the state of the picker. Use New.
type Model struct {
	title         string
	options       []Option
	filter        string
	selected      int
	chosen        string
	width, height int
}

func New(title string, options []Option) Model {
	return Model{title: title, options: options, width: 80, height: 24}
}

// Chosen returns the name of the option that the person chose, or "" if they left.
func (m Model) Chosen() string { return m.chosen }

func (m Model) Init() tea.Cmd { return nil }

func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.handleKey(msg)
	}
	return m, nil
}

func (m Model) handleKey(k tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	shown := m.shown()
	switch k.String() {
	case "ctrl+c", "esc":
		return m, tea.Quit
	case "enter":
		if len(shown) > 0 {
			m.chosen = shown[m.selected].Name
			return m, tea.Quit
		}
	case "up", "ctrl+p":
		m.selected = max(0, m.selected-1)
	case "down", "ctrl+n", "tab":
		m.selected = max(0, min(len(shown)-1, m.selected+1))
	case "backspace":
		if m.filter != "" {
			runes := []rune(m.filter)
			m.filter, m.selected = string(runes[:len(runes)-1]), 0
		}
	default:
		if k.Text != "" {
			m.filter, m.selected = m.filter+k.Text, 0
		}
	}
	return m, nil
}

// shown returns the options that contain the typed text.
func (m Model) shown() []Option {
	var shown []Option
	for _, o := range m.options {
		if strings.Contains(strings.ToLower(o.Line), strings.ToLower(m.filter)) {
			shown = append(shown, o)
		}
	}
	return shown
}

func (m Model) View() tea.View {
	shown := m.shown()
	lines := []string{terminal.Bold.Render(m.title), terminal.Accent.Render("❯ ") + terminal.Line(m.filter)}
	if len(shown) == 0 {
		lines = append(lines, terminal.Faint.Render("  nothing contains this text"))
	}
	room := max(1, m.height-len(lines)-1)
	first := max(0, min(m.selected-room/2, len(shown)-room))
	for i, o := range shown[first:min(len(shown), first+room)] {
		mark := "  "
		line := o.Line
		if first+i == m.selected {
			mark, line = terminal.Accent.Render("▸ "), terminal.Bold.Render(line)
		}
		lines = append(lines, mark+line)
	}
	lines = append(lines, terminal.Faint.Render(fmt.Sprintf("%d of %d · type to search · ↑↓ choose · enter open · esc leave", len(shown), len(m.options))))
	for i, line := range lines {
		lines[i] = terminal.Fit(line, m.width)
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	return v
}
