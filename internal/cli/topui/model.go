// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package topui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/money"
	"github.com/nestor-dev/nestor/internal/view"
)

// Updated is sent when something has changed.
type Updated view.Snapshot

type Chat struct{ Namespace, Name string }

// level is how deep the person has looked into a run.
type level int

const (
	levelRuns level = iota
	levelAgents
	levelDetail
)

// Model is the state of the screen. Use New.
type Model struct {
	place      string // the namespace, for the header
	namespaces bool   // of several namespaces

	width, height int
	now           time.Time
	snapshot      view.Snapshot
	loaded        bool
	runs          []row // of the snapshot
	rates         rates

	level    level
	selected [levelDetail + 1]string // the key of the selected row of each level
	run      row                     // the run at levelAgents and below
	agent    row                     // the agent at levelDetail
	top      int                     // the first line of the detail
	open     Chat
	leaving  bool // to choose another namespace

	ctx           context.Context //nolint:containedctx // commands that Bubble Tea runs need one, and it passes none
	actions       Actions
	filter        string
	order         int    // the index of the order of the runs
	input         *input // the line that the person types
	pager         *pager // a text above the rows
	reads         int    // counts the pagers
	notice        string
	pendingCancel Target
}

// New returns the screen of a place: a namespace, or all of them.
func New(ctx context.Context, actions Actions, place string, namespaces bool, now time.Time) Model {
	return Model{ctx: ctx, actions: actions, place: place, namespaces: namespaces, now: now, width: 80, height: 24, rates: rates{}}
}

// SwitchesNamespace reports whether the person left to choose another namespace.
func (m Model) SwitchesNamespace() bool { return m.leaving }

// Open returns the chat that the person wants to open, with an empty name if there is none.
func (m Model) Open() Chat { return m.open }

// Resume returns the model as it was before a chat was opened.
func (m Model) Resume() Model {
	m.open, m.leaving = Chat{}, false
	return m
}

// WithNotice returns the model with a message above the keys.
func (m Model) WithNotice(text string) Model {
	m.notice = text
	return m
}

// ticked is sent every second.
type ticked time.Time

func tick() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return ticked(t) })
}

// Init starts the clock.
func (m Model) Init() tea.Cmd { return tick() }

func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case Updated:
		m.snapshot, m.loaded, m.runs = view.Snapshot(msg), true, runRows(view.Snapshot(msg))
		m.measure()
	case ticked:
		m.now = time.Time(msg)
		m.measure()
		return m, tick()
	case textRead:
		return m.arrived(msg)
	case armed:
		return m.arm(msg), nil
	case edited:
		return m.onEdited(msg)
	case acted:
		m.notice = msg.done
		if msg.err != nil {
			m.notice = "error: " + msg.err.Error()
		}
	case tea.KeyPressMsg:
		return m.handleKey(msg)
	}
	return m, nil
}

// measure records the tokens of all runs and of the shown agents.
func (m Model) measure() {
	for _, r := range m.runs {
		m.rates.add(r.key, m.now, r.tokens)
	}
	if m.level == levelRuns {
		return
	}
	for _, r := range agentRows(m.part(), m.run.chat, m.run.task) {
		m.rates.add("agent:"+r.key, m.now, r.tokens)
	}
}

// part returns the snapshot of the namespace of the selected run.
func (m Model) part() view.Snapshot { return m.partOf(m.run.namespace) }

func (m Model) partOf(namespace string) view.Snapshot {
	parts := m.snapshot.ByNamespace()
	i := slices.IndexFunc(parts, func(s view.Snapshot) bool { return s.Namespace == namespace })
	if i < 0 {
		return view.Snapshot{Namespace: namespace}
	}
	return parts[i]
}

func (m Model) rows() []row {
	if m.level == levelRuns {
		return m.arranged()
	}
	return agentRows(m.part(), m.run.chat, m.run.task)
}

// index returns the place of the selected row, or 0.
func (m Model) index(rows []row) int {
	return max(0, slices.IndexFunc(rows, func(r row) bool { return r.key == m.selected[m.level] }))
}

// room returns the number of lines between the header and the footer.
func (m Model) room() int { return max(1, m.height-len(m.header())-2) }

// header renders the totals, and the problem if the connection is lost.
func (m Model) header() []string {
	var active, waiting int
	var tokens int64
	var rate float64
	costs := money.Sums{}
	known := true
	for _, r := range m.runs {
		active, waiting, tokens, rate = active+r.active, waiting+r.waiting, tokens+r.tokens, rate+m.rates.perSecond(r.key)
		switch {
		case r.cost != nil:
			costs[r.currency] += *r.cost
		case r.tokens > 0:
			known = false
		}
	}
	totals := "connecting"
	if m.loaded {
		totals = fmt.Sprintf("%d active · %s · %s tok/s · %s tokens", active, waitingText(waiting), rateText(rate), terminal.Count(tokens))
		if len(costs) > 0 || known {
			totals += " · cost " + costs.String()
			if !known {
				totals += "+"
			}
		}
	}
	lines := []string{terminal.Fit(terminal.Bold.Render("nestor top")+"  "+terminal.Faint.Render(m.path())+"  "+totals, m.width)}
	if m.snapshot.Err != nil {
		lines = append(lines, terminal.Bad.Render(terminal.Fit("connection lost, retrying: "+terminal.Line(m.snapshot.Err.Error()), m.width)))
	}
	return lines
}

// path names what is shown.
func (m Model) path() string {
	switch m.level {
	case levelAgents:
		return m.run.namespace + " › " + m.run.name
	case levelDetail:
		return m.run.namespace + " › " + m.run.name + " › " + m.agent.name
	}
	if m.filter != "" && m.input == nil {
		return m.place + " /" + terminal.Line(m.filter)
	}
	return m.place
}

func waitingText(n int) string {
	text := fmt.Sprintf("%d waiting", n)
	if n > 0 {
		return terminal.Warning.Render(text)
	}
	return text
}

func rateText(perSecond float64) string {
	if perSecond < 0.5 {
		return "0"
	}
	return terminal.Count(int64(perSecond + 0.5))
}

func (m Model) View() tea.View {
	lines := m.header()
	switch {
	case m.pager != nil && (!m.pager.loading || !m.pager.detail):
		lines = append(lines, m.pagerLines()...)
	case m.level == levelDetail:
		lines = append(lines, m.detail()...) // until the transcript has been read
	default:
		lines = append(lines, m.table()...)
	}
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	if rows := m.rows(); m.pager == nil && m.level < levelDetail && len(rows) > 0 && m.height > 5 {
		lines[m.height-2] = terminal.Warning.Render(terminal.Line(rows[m.index(rows)].note))
	}
	lines = append(lines[:max(1, m.height-1)], terminal.Faint.Render(m.footer()))
	for i, line := range lines {
		lines[i] = terminal.Fit(line, m.width)
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.WindowTitle = "nestor top"
	return v
}

func (m Model) footer() string {
	switch {
	case m.input != nil:
		return m.input.prompt + terminal.Line(m.input.text) + "▏"
	case m.notice != "":
		return terminal.Line(m.notice)
	case m.pager != nil && m.pager.ask != nil:
		edit := ""
		if m.pager.ask.Editable {
			edit = " · e edit"
		}
		return m.pager.title + " · a approve" + edit + " · x deny · ↑↓ scroll · esc back"
	case m.pager != nil:
		return m.pager.title + " · ↑↓ scroll · esc back"
	case m.level == levelAgents:
		return "↑↓ choose · enter what it does · a approve · r answer · d diff · y YAML · c open the chat · esc back · ? keys"
	case m.level == levelDetail:
		return "↑↓ scroll · esc back · c open the chat · ? keys"
	}
	return "↑↓ choose · enter its agents · / filter · s sort · n namespace · a approve · r answer · c open the chat · ? keys · q leave"
}

func (m Model) detail() []string {
	lines := detailLines(m.part(), m.agent.task, m.width)
	return lines[min(m.top, len(lines)):]
}
