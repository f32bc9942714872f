// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

// changesView shows what the call that waits for approval would change, instead of the conversation. It is closed if call is "".
type changesView struct {
	call  string                // the key of the call
	lines []terminal.ChangeLine // what it changes, or a note about it
	pane  viewport.Model
}

// changesRead is what a call would change, or the error of reading it.
type changesRead struct {
	call  string
	lines []terminal.ChangeLine
	err   error
}

// changesFile reports whether a call is one of the workspace tools whose changes can be shown.
func changesFile(ask view.Ask) bool { return ask.Tool == "write" || ask.Tool == "patch" }

func noteLine(text string) []terminal.ChangeLine { return []terminal.ChangeLine{{Text: text}} }

func (v changesView) open() bool { return v.call != "" }

// openChanges opens the changes of the call in the panel and starts to read them.
func (m Model) openChanges() (Model, tea.Cmd) {
	ask, approvals := m.firstAsk(v1beta1.WaitingApproval)
	switch {
	case approvals == 0:
		m.notice = notice{"nothing waits for an approval", false}
		return m, nil
	case !changesFile(ask):
		m.notice = notice{"only calls of write and patch have a diff", false}
		return m, nil
	case ask.Truncated:
		m.notice = notice{"the full call has not arrived yet: fetching it again", true}
		return m, m.fetch(ask)
	}
	m.changes = changesView{call: ask.Key(), lines: noteLine("reading the file"), pane: viewport.New()}
	return m, func() tea.Msg {
		lines, err := m.actions.Changes(m.ctx, ask)
		return changesRead{ask.Key(), lines, err}
	}
}

// workspaceDiff is the key of the view that shows all changes of the workspace.
const workspaceDiff = "workspace"

// openDiff opens the changes of the workspace and starts to read them.
func (m Model) openDiff() (Model, tea.Cmd) {
	m.changes = changesView{call: workspaceDiff, lines: noteLine("reading the workspace"), pane: viewport.New()}
	return m, func() tea.Msg {
		lines, err := m.actions.Diff(m.ctx)
		return changesRead{workspaceDiff, lines, err}
	}
}

// read returns the view with what was read, unless it shows another call now.
func (v changesView) read(r changesRead) changesView {
	switch {
	case r.call != v.call:
		return v
	case r.err != nil && r.call == workspaceDiff:
		v.lines = noteLine("the changes of the workspace cannot be shown: " + terminal.Line(r.err.Error()))
	case len(r.lines) == 0 && r.call == workspaceDiff:
		v.lines = noteLine("no changes")
	case r.err != nil:
		v.lines = noteLine("what the call would change cannot be shown: " + terminal.Line(r.err.Error()))
	case len(r.lines) == 0:
		v.lines = noteLine("these arguments cannot be shown as a diff: esc and ctrl+g show them as they are")
	default:
		v.lines = r.lines
	}
	return v
}

// closeStaleChanges closes the changes of a call that is no longer the one in the panel.
func (m Model) closeStaleChanges() Model {
	if m.changes.open() && m.changes.call != m.prompt.key && m.changes.call != workspaceDiff {
		m.changes = changesView{}
		m.notice = notice{"the call no longer waits for an approval", false}
	}
	return m
}

// resize fits the view into a window. Long lines are wrapped, so that none of them is cut.
func (v changesView) resize(width, height int) changesView {
	if !v.open() {
		return v
	}
	var lines []string
	for _, line := range v.lines {
		lines = append(lines, line.Wrap(width)...)
	}
	v.pane.SetWidth(width)
	v.pane.SetHeight(max(1, height))
	v.pane.SetContentLines(lines)
	return v
}

// handleChangesKey handles a key while the changes are shown.
func (m Model) handleChangesKey(k tea.KeyPressMsg) (Model, tea.Cmd) {
	switch k.String() {
	case "ctrl+c":
		return m, tea.Quit
	case "esc", "ctrl+r", "q":
		m.changes = changesView{}
	case "ctrl+y", "ctrl+n": // the panel has the rules: it must have shown the whole call
		m.changes = changesView{}
		return m.handleKey(k)
	case "up", "k":
		m.changes.pane.ScrollUp(1)
	case "down", "j":
		m.changes.pane.ScrollDown(1)
	case "pgup":
		m.changes.pane.PageUp()
	case "pgdown", "space":
		m.changes.pane.PageDown()
	case "home":
		m.changes.pane.GotoTop()
	case "end":
		m.changes.pane.GotoBottom()
	}
	return m, nil
}

// changesScreen draws the changes below the header.
func (m Model) changesScreen() tea.View {
	lines := append(m.header(), strings.Split(m.changes.pane.View(), "\n")...)
	return m.newView(append(lines, m.changesFooter()))
}

func (m Model) changesFooter() string {
	keys := "ctrl+y approve · ctrl+n deny · esc closes the diff"
	if m.changes.call == workspaceDiff {
		keys = "esc closes the diff"
	}
	if m.changes.pane.TotalLineCount() <= m.changes.pane.Height() {
		return terminal.Faint.Render(terminal.Fit(keys, m.width))
	}
	text := fmt.Sprintf("%d%% · ↑↓ pgup pgdn scroll · ", int(m.changes.pane.ScrollPercent()*100))
	return terminal.Faint.Render(terminal.Fit(text+keys, m.width))
}
