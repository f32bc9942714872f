// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package picker

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

func press(m Model, keys ...tea.KeyPressMsg) (Model, tea.Cmd) {
	var cmd tea.Cmd
	for _, k := range keys {
		var next tea.Model
		next, cmd = m.Update(k)
		m = next.(Model)
	}
	return m, cmd
}

func letter(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Text: string(r)} }

func TestOneOfManyIsChosen(t *testing.T) {
	var options []Option
	for i := range 50 {
		options = append(options, Option{Name: fmt.Sprintf("chat-%d", i), Line: fmt.Sprintf("chat-%d  Idle", i)})
	}
	enter, down, up, esc, back := tea.KeyPressMsg{Code: tea.KeyEnter}, tea.KeyPressMsg{Code: tea.KeyDown}, tea.KeyPressMsg{Code: tea.KeyUp}, tea.KeyPressMsg{Code: tea.KeyEscape}, tea.KeyPressMsg{Code: tea.KeyBackspace}
	for name, c := range map[string]struct {
		keys []tea.KeyPressMsg
		want string
	}{
		"the first":          {[]tea.KeyPressMsg{enter}, "chat-0"},
		"the second":         {[]tea.KeyPressMsg{down, enter}, "chat-1"},
		"not before a first": {[]tea.KeyPressMsg{up, enter}, "chat-0"},
		"by a text":          {[]tea.KeyPressMsg{letter('4'), letter('2'), enter}, "chat-42"},
		"a corrected text":   {[]tea.KeyPressMsg{letter('x'), back, letter('7'), down, enter}, "chat-17"},
		"none":               {[]tea.KeyPressMsg{esc}, ""},
		"none of none":       {[]tea.KeyPressMsg{letter('x'), enter}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := press(New("Chats", options), c.keys...)
			if m.Chosen() != c.want {
				t.Errorf("chosen %q, want %q", m.Chosen(), c.want)
			}
		})
	}
	m, _ := New("Chats", options).Update(tea.WindowSizeMsg{Width: 30, Height: 10})
	for range 30 {
		m, _ = m.Update(down)
	}
	lines := strings.Split(ansi.Strip(fmt.Sprint(m.View().Content)), "\n")
	if len(lines) > 10 || !strings.Contains(strings.Join(lines, "\n"), "▸ chat-30") {
		t.Errorf("the selected row is not on the screen:\n%s", strings.Join(lines, "\n"))
	}
}
