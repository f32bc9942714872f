// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package topui

import tea "charm.land/bubbletea/v2"

func (m Model) handleKey(k tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	m.notice = ""
	if k.String() != "ctrl+x" {
		m.pendingCancel = Target{}
	}
	switch {
	case m.input != nil:
		return m.handleInputKey(k)
	case m.pager != nil:
		return m.handlePagerKey(k)
	}
	return m.handleRowKey(k)
}

func (m Model) handleRowKey(k tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	switch k.String() {
	case "ctrl+c", "q":
		return m, tea.Quit
	case "esc", "left", "h":
		if m.level > levelRuns {
			m.level--
			m.top = 0
		} else {
			m.filter = ""
		}
	case "enter", "right", "l":
		m = m.descend()
		if m.level == levelDetail {
			return m.read(TextTranscript)
		}
	case "/":
		m.level, m.input = levelRuns, &input{prompt: "/", text: m.filter}
	case "s":
		m.level, m.order = levelRuns, (m.order+1)%len(orders)
		m.notice = "sorted by " + orders[m.order].name
	case "n":
		m.level, m.leaving = levelRuns, true
		return m, tea.Quit
	case "d":
		return m.read(TextDiff)
	case "y":
		return m.read(TextYAML)
	case "a":
		return m.showCall()
	case "r":
		return m.startAnswer(), nil
	case "ctrl+x":
		return m.cancel()
	case "?":
		m.pager = &pager{title: "keys", text: help}
	case "up", "k":
		return m.move(-1), nil
	case "down", "j":
		return m.move(1), nil
	case "pgup":
		return m.move(-m.room()), nil
	case "pgdown", "space":
		return m.move(m.room()), nil
	case "home", "g":
		return m.move(-1 << 20), nil
	case "end", "G":
		return m.move(1 << 20), nil
	case "c":
		return m.openChat()
	}
	return m, nil
}

// descend opens the selected row.
func (m Model) descend() Model {
	rows := m.rows()
	if len(rows) == 0 || m.level == levelDetail {
		return m
	}
	r := rows[m.index(rows)]
	m.selected[m.level] = r.key
	m.level++
	m.top = 0
	if m.level == levelDetail {
		m.agent = r
		return m
	}
	m.run = r
	return m
}

// move selects another row, or scrolls the detail.
func (m Model) move(by int) Model {
	if m.level == levelDetail {
		last := len(detailLines(m.part(), m.agent.task, m.width)) - m.room()
		m.top = max(0, min(m.top+by, last))
		return m
	}
	rows := m.rows()
	if len(rows) > 0 {
		m.selected[m.level] = rows[max(0, min(m.index(rows)+by, len(rows)-1))].key
	}
	return m
}

// openChat ends the screen to open the chat of the selected row.
func (m Model) openChat() (tea.Model, tea.Cmd) {
	r := m.run
	if m.level == levelRuns {
		rows := m.rows()
		if len(rows) == 0 {
			return m, nil
		}
		r = rows[m.index(rows)]
	}
	if r.chat == "" {
		return m, nil
	}
	m.open = Chat{r.namespace, r.chat}
	return m, tea.Quit
}
