// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package topui

import (
	"fmt"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

// table renders the rows around the selected one.
func (m Model) table() []string {
	rows := m.rows()
	if len(rows) == 0 {
		if !m.loaded {
			return nil
		}
		if m.level == levelRuns && len(m.runs) > 0 {
			return []string{terminal.Faint.Render("nothing contains " + terminal.Line(m.filter))}
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
	widest := m.widestName()
	mark, name := " ", terminal.Fit(r.name, widest)
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
		mark, terminal.Fit(r.namespace, widest), terminal.Faint.Render(r.indent) + name, terminal.Fit(terminal.Line(r.role), widest), terminal.Phase(r.phase), iterations, wait,
		terminal.Count(r.tokens), rateText(m.rates.perSecond(key)), terminal.Cost(r.cost, r.currency), terminal.Since(r.since, m.now), terminal.Line(r.note),
	}
}

// wideScreen is the least width that has room for notes, waits and iterations in the table.
const wideScreen = 100

// widestName returns the width that a name in the table may have: a sixth of the terminal, and all of it in a pipe.
func (m Model) widestName() int {
	if m.width == 0 {
		return 1 << 10
	}
	return max(24, m.width/6)
}

// Table returns the runs as a table for output without a terminal.
func Table(now view.Snapshot, at time.Time, namespaces bool, width int) terminal.Table {
	m := Model{namespaces: namespaces, now: at, width: width, rates: rates{}}
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
