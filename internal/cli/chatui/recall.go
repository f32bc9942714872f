// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import "github.com/nestor-dev/nestor/api/v1beta1"

// recall goes through the lines that were sent: those of this session after the messages of the chat.
type recall struct {
	lines []string // of this session
	back  int      // how many lines before the input is shown; 0 is the input itself
	draft string   // the input that was there before
}

// sent returns everything that people wrote in the chat, then the lines of this session that are not among it.
func (m Model) sent() []string {
	var all []string
	seen := map[string]bool{}
	for _, message := range m.snapshot.Messages {
		if message.Spec.Role == v1beta1.RoleUser && message.Spec.Content != "" {
			all = append(all, message.Spec.Content)
			seen[message.Spec.Content] = true
		}
	}
	for _, line := range m.recall.lines {
		if !seen[line] {
			all = append(all, line)
		}
	}
	return all
}

// recallLine puts an earlier line into the input, or a later one if by is negative. It reports false if there is none.
func (m Model) recallLine(by int) (Model, bool) {
	all := m.sent()
	back := m.recall.back + by
	if back < 0 || back > len(all) {
		return m, false
	}
	if m.recall.back == 0 {
		m.recall.draft = m.input.Value()
	}
	m.recall.back = back
	if back == 0 {
		m.input.SetValue(m.recall.draft)
		return m, true
	}
	m.input.SetValue(all[len(all)-back])
	return m, true
}
