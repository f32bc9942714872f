// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// handleKey handles a key: first the global keys, then those of the focused part.
func (m Model) handleKey(k tea.KeyPressMsg) (Model, tea.Cmd) {
	m.notice = notice{}
	if k.String() != "ctrl+x" {
		m.pendingCancel = ""
	}
	if m.changes.open() {
		return m.handleChangesKey(k)
	}
	switch k.String() {
	case "ctrl+c":
		return m, tea.Quit
	case "ctrl+r":
		return m.openChanges()
	case "pgup":
		if m.prompt.expanded {
			return m.scrollCall(-1), nil
		}
		m.pane.PageUp()
		return m, nil
	case "pgdown":
		if m.prompt.expanded {
			return m.scrollCall(1), nil
		}
		m.pane.PageDown()
		return m, nil
	case "ctrl+o":
		return m.toggleAll(), nil
	case "tab":
		return m.changeFocus(), nil
	case "ctrl+y":
		return m.decide(v1beta1.Approval{Decision: v1beta1.DecisionApprove})
	case "ctrl+n":
		return m.decide(v1beta1.Approval{Decision: v1beta1.DecisionDeny})
	case "ctrl+e":
		if ask, approvals := m.firstAsk(v1beta1.WaitingApproval); approvals > 0 && ask.Editable {
			return m.edit(ask)
		}
	case "ctrl+g":
		m.prompt.expanded, m.prompt.top = !m.prompt.expanded, 0
		return m, nil
	}
	if m.focused {
		return m.handleBlockKey(k)
	}
	return m.handleInputKey(k)
}

func (m Model) handleInputKey(k tea.KeyPressMsg) (Model, tea.Cmd) {
	empty := m.input.Value() == ""
	switch k.String() {
	case "enter":
		return m.submit()
	case "esc":
		if _, questions := m.firstAsk(v1beta1.WaitingQuestion); questions > 0 {
			m.toOrchestrator = !m.toOrchestrator
		}
		return m, nil
	case "ctrl+d":
		if empty {
			return m, tea.Quit
		}
	case "up":
		if empty || m.recall.back > 0 {
			recalled, found := m.recallLine(1)
			if !found && empty {
				m.pane.ScrollUp(1)
			}
			return recalled, nil
		}
	case "down":
		if empty || m.recall.back > 0 {
			recalled, found := m.recallLine(-1)
			if !found {
				m.pane.ScrollDown(1)
			}
			return recalled, nil
		}
	case "home":
		if empty {
			m.pane.GotoTop()
			return m, nil
		}
	case "end":
		if empty {
			m.pane.GotoBottom()
			return m, nil
		}
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(k)
	return m, cmd
}

func (m Model) handleBlockKey(k tea.KeyPressMsg) (Model, tea.Cmd) {
	switch k.String() {
	case "esc":
		return m.changeFocus(), nil
	case "up":
		return m.selectNext(-1), nil
	case "down":
		return m.selectNext(1), nil
	case "enter", "space":
		return m.setExpanded(!m.expanded[m.selected]), nil
	case "right":
		return m.setExpanded(true), nil
	case "left":
		return m.setExpanded(false), nil
	case "home":
		m.pane.GotoTop()
	case "end":
		m.pane.GotoBottom()
	case "ctrl+x":
		return m.cancelSelected()
	}
	if k.Text == "" {
		return m, nil
	}
	m.focused = false // typing moves the focus to the input
	m.input.Focus()
	return m.handleInputKey(k)
}

// setExpanded opens or closes the selected block and scrolls to it.
func (m Model) setExpanded(open bool) Model {
	m.expanded[m.selected] = open
	return m.layout().scrollToSelected()
}

// changeFocus moves the focus from the input to the newest block, or back.
func (m Model) changeFocus() Model {
	if m.focused || len(m.blocks) == 0 {
		if !m.focused {
			m.notice = notice{"there are no tasks yet", false}
		}
		m.focused = false
		return m
	}
	m.focused = true
	if m.blockAt(m.selected) < 0 {
		m.selected = m.blocks[len(m.blocks)-1].task
	}
	return m.scrollToSelected()
}

func (m Model) blockAt(task string) int {
	return slices.IndexFunc(m.blocks, func(p blockSpan) bool { return p.task == task })
}

func (m Model) selectNext(step int) Model {
	if len(m.blocks) == 0 {
		return m
	}
	i := m.blockAt(m.selected) + step
	m.selected = m.blocks[max(0, min(i, len(m.blocks)-1))].task
	return m.scrollToSelected()
}

// scrollToSelected scrolls to the selected block. If it does not fit, its beginning is visible.
func (m Model) scrollToSelected() Model {
	if i := m.blockAt(m.selected); i >= 0 {
		m.pane.EnsureVisible(m.blocks[i].end, 0, 0)
		m.pane.EnsureVisible(m.blocks[i].line, 0, 0)
	}
	return m
}

// toggleAll opens every block, or closes them if all are open.
func (m Model) toggleAll() Model {
	open := slices.ContainsFunc(m.snapshot.Tasks, func(t v1beta1.AgentTask) bool { return !m.expanded[t.Name] })
	for _, task := range m.snapshot.Tasks {
		m.expanded[task.Name] = open
	}
	return m
}

// cancelSelected cancels the selected task when the key is pressed twice.
func (m Model) cancelSelected() (Model, tea.Cmd) {
	if m.pendingCancel != m.selected {
		m.pendingCancel = m.selected
		m.notice = notice{fmt.Sprintf("press ctrl+x again to cancel %s and everything below it", m.selected), true}
		return m, nil
	}
	m.pendingCancel = ""
	return m, m.cancel(m.selected)
}
