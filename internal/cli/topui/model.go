// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package topui

import (
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
}

// New returns the screen of a place: a namespace, or all of them.
func New(place string, namespaces bool, now time.Time) Model {
	return Model{place: place, namespaces: namespaces, now: now, width: 80, height: 24, rates: rates{}}
}

// Open returns the chat that the person wants to open, with an empty name if there is none.
func (m Model) Open() Chat { return m.open }

// Resume returns the model as it was before a chat was opened.
func (m Model) Resume() Model {
	m.open = Chat{}
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
func (m Model) part() view.Snapshot {
	parts := m.snapshot.ByNamespace()
	i := slices.IndexFunc(parts, func(s view.Snapshot) bool { return s.Namespace == m.run.namespace })
	if i < 0 {
		return view.Snapshot{Namespace: m.run.namespace}
	}
	return parts[i]
}

func (m Model) rows() []row {
	if m.level == levelRuns {
		return m.runs
	}
	return agentRows(m.part(), m.run.chat, m.run.task)
}

// index returns the place of the selected row, or 0.
func (m Model) index(rows []row) int {
	return max(0, slices.IndexFunc(rows, func(r row) bool { return r.key == m.selected[m.level] }))
}

func (m Model) handleKey(k tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	switch k.String() {
	case "ctrl+c", "q":
		return m, tea.Quit
	case "esc", "left", "h":
		if m.level > levelRuns {
			m.level--
			m.top = 0
		}
	case "enter", "right", "l":
		return m.descend(), nil
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
	if m.level == levelDetail {
		lines = append(lines, m.detail()...)
	} else {
		lines = append(lines, m.table()...)
	}
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	if rows := m.rows(); m.level < levelDetail && len(rows) > 0 && m.height > 5 {
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
	switch m.level {
	case levelAgents:
		return "↑↓ choose · enter what it does · esc back · c open the chat · q leave"
	case levelDetail:
		return "↑↓ scroll · esc back · c open the chat · q leave"
	}
	return "↑↓ choose · enter its agents · c open the chat · q leave"
}

func (m Model) detail() []string {
	lines := detailLines(m.part(), m.agent.task, m.width)
	return lines[min(m.top, len(lines)):]
}

// table renders the rows around the selected one.
func (m Model) table() []string {
	rows := m.rows()
	if len(rows) == 0 {
		if !m.loaded {
			return nil
		}
		return []string{terminal.Faint.Render("no chats or tasks")}
	}
	selected := m.index(rows)
	room := max(1, m.room()-2) // a line for the heading, one for the note
	first := max(0, min(selected-room/2, len(rows)-room))
	t := terminal.Table{Heading: []string{"", "NAMESPACE", "NAME", "ROLE", "PHASE", "ITER", "WAIT", "TOKENS", "TOK/S", "COST", "AGE", "NOTE"}}
	for i, r := range rows[first:min(len(rows), first+room)] {
		t.Rows = append(t.Rows, m.cells(r, first+i == selected))
	}
	if m.width < wideScreen { // the note of the selected row is above the footer
		t = t.Without(11).Without(6).Without(5)
	}
	if !m.namespaces || m.level > levelRuns {
		t = t.Without(1)
	}
	var out strings.Builder
	t.FitLast(m.width, "COST", "AGE", "TOKENS", "ROLE").Print(&out)
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

func (m Model) cells(r row, selected bool) []string {
	mark, name := " ", terminal.Fit(r.name, maxName)
	if selected {
		mark, name = terminal.Accent.Render("▸"), terminal.Bold.Render(name)
	}
	wait, iterations, key := "-", "-", r.key
	if r.waiting > 0 {
		wait = terminal.Warning.Render(fmt.Sprint(r.waiting))
	}
	if r.iterations > 0 {
		iterations = fmt.Sprint(r.iterations)
	}
	if m.level > levelRuns {
		key = "agent:" + key
	}
	return []string{
		mark, terminal.Fit(r.namespace, maxName), terminal.Faint.Render(r.indent) + name, terminal.Fit(terminal.Line(r.role), maxName), terminal.Phase(r.phase), iterations, wait,
		terminal.Count(r.tokens), rateText(m.rates.perSecond(key)), terminal.Cost(r.cost, r.currency), terminal.Since(r.since, m.now), terminal.Line(r.note),
	}
}

// wideScreen is the least width that has room for notes, waits and iterations in the table.
const wideScreen = 100

// maxName is the widest name in the table.
const maxName = 24

// Table returns the runs as a table for output without a terminal.
func Table(now view.Snapshot, at time.Time, namespaces bool) terminal.Table {
	m := New("", namespaces, at)
	t := terminal.Table{Heading: []string{"NAMESPACE", "NAME", "ROLE", "PHASE", "ITER", "WAIT", "TOKENS", "TOK/S", "COST", "AGE", "NOTE"}}
	for _, r := range runRows(now) {
		t.Rows = append(t.Rows, m.cells(r, false)[1:])
	}
	t = t.Without(7) // a rate needs two looks
	if !namespaces {
		t = t.Without(0)
	}
	return t
}
