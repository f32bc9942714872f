// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package topui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

// pager shows a text above the rows. With an ask it is a call to decide about.
type pager struct {
	id        int // of what is read for it
	title     string
	text      string
	loading   bool
	failed    bool
	ready     bool     // it has been shown for armDelay
	detail    bool     // it is the detail of an agent
	lines     []string // of the text at a width
	width     int
	top       int
	lowest    int // the last line that was on the screen
	namespace string
	ask       *view.Ask
}

// help lists the keys.
const help = `up, down, pgup, pgdn   choose or scroll; also k and j
enter                  open: a run's agents, an agent's transcript
esc                    back
/                      show only rows with a text; esc shows all again
s                      sort: what waits first, tokens, cost, age, name
n                      switch to another namespace
d                      diff of the workspace
y                      YAML of the chat or task
a                      show the call that waits for approval; then a approves it, e edits its arguments, x denies it
r                      answer the question of an agent
ctrl+x, twice          cancel the run, or the agent and everything below it
c                      open the chat; leaving it returns here
q, ctrl+c              leave`

// armDelay is how long a call is shown before it can be decided, so that a key pressed twice does not decide about it unseen.
const armDelay = 400 * time.Millisecond

// armed is sent when the text of a pager has been shown for armDelay.
type armed int

func (m Model) arm(id armed) Model {
	if m.pager != nil && m.pager.id == int(id) {
		p := *m.pager
		p.ready = true
		m.pager = &p
	}
	return m
}

// arrived shows a text that was read, unless the person has left it. Calls in two namespaces may have the same title.
func (m Model) arrived(r textRead) (tea.Model, tea.Cmd) {
	if m.pager == nil || m.pager.id != r.id || !m.pager.loading {
		return m, nil
	}
	p := *m.pager
	p.loading, p.text, p.width = false, r.text, 0
	if r.err != nil {
		p.failed, p.text = true, r.err.Error()
	}
	m.pager = &p
	return m, tea.Tick(armDelay, func(time.Time) tea.Msg { return armed(r.id) })
}

// layout wraps the text to a width. Long lines are wrapped, not cut: a person decides about what is shown.
func (p *pager) layout(width, room int) {
	if p.width != width {
		p.width, p.lines, p.lowest = width, nil, 0
		for line := range strings.SplitSeq(strings.TrimRight(p.text, "\n"), "\n") {
			p.lines = append(p.lines, terminal.WrapExact(terminal.Clean(line), width)...)
		}
	}
	p.top = max(0, min(p.top, len(p.lines)-room))
	p.lowest = max(p.lowest, p.top+room)
}

// read reports whether the end of the text has been on the screen.
func (p *pager) read(room int) bool { return max(p.lowest, p.top+room) >= len(p.lines) }

func (m Model) pagerLines() []string {
	p := *m.pager
	if p.loading {
		return []string{terminal.Faint.Render("reading")}
	}
	p.layout(m.width, m.room())
	return p.lines[p.top:min(len(p.lines), p.top+m.room())]
}

func (m Model) handlePagerKey(k tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	p := *m.pager
	p.layout(m.width, m.room())
	m.pager = &p
	by := 0
	switch k.String() {
	case "ctrl+c", "q":
		return m, tea.Quit
	case "esc", "left", "h":
		m.pager = nil
		if p.detail {
			m.level--
		}
		return m, nil
	case "a":
		if p.ask != nil {
			return m.decide(v1beta1.Approval{Decision: v1beta1.DecisionApprove})
		}
		if p.detail {
			return m.showCall()
		}
	case "e":
		if p.ask != nil {
			return m.edit()
		}
	case "x":
		if p.ask != nil {
			return m.decide(v1beta1.Approval{Decision: v1beta1.DecisionDeny})
		}
	case "up", "k":
		by = -1
	case "down", "j":
		by = 1
	case "pgup":
		by = -m.room()
	case "pgdown", "space":
		by = m.room()
	case "home", "g":
		by = -1 << 20
	case "end", "G":
		by = 1 << 20
	default:
		if p.detail {
			return m.handleRowKey(k)
		}
	}
	p.top += by
	p.layout(m.width, m.room())
	return m, nil
}

// input is a line that the person types: a filter, or the answer to an ask.
type input struct {
	prompt, text string
	namespace    string
	ask          *view.Ask
}

func (m Model) handleInputKey(k tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	in := *m.input
	m.input = &in
	switch k.String() {
	case "ctrl+c":
		return m, tea.Quit
	case "esc":
		m.input = nil
		if in.ask == nil {
			m.filter = ""
		}
		return m, nil
	case "enter":
		if in.ask != nil {
			return m.answer()
		}
		m.input = nil
		return m, nil
	case "backspace":
		if runes := []rune(in.text); len(runes) > 0 {
			in.text = string(runes[:len(runes)-1])
		}
	default:
		in.text += k.Text
	}
	if in.ask == nil {
		m.filter = in.text
	}
	return m, nil
}
