// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

// panel renders what waits for the person in at most height lines. The keys come last and are never cut off.
func (m Model) panel(height int) []string {
	var questions []string
	if ask, count := m.firstAsk(v1beta1.WaitingQuestion); count > 0 {
		questions = m.questionLines(ask, count)
	}
	ask, count := m.firstAsk(v1beta1.WaitingApproval)
	if count == 0 {
		return questions
	}
	return append(m.approvalLines(ask, count, height-len(questions)), questions...)
}

func (m Model) approvalLines(ask view.Ask, count, height int) []string {
	head := terminal.Warning.Render(fmt.Sprintf("! %s wants to run %s", agentLabel(ask), terminal.Line(ask.Tool)))
	if count > 1 {
		head += terminal.Faint.Render(fmt.Sprintf("  (1 of %d)", count))
	}
	lines := []string{terminal.Fit(head, m.width)}
	call := requestLines(ask, m.width-4)
	from, to := m.visibleLines(len(call), height)
	lines = append(lines, terminal.Indent(call[from:to], "    ")...)
	if from > 0 || to < len(call) {
		note := fmt.Sprintf("    … %d more lines: ctrl+g shows them", len(call)-to)
		if m.prompt.expanded {
			note = fmt.Sprintf("    lines %d to %d of %d: pgup and pgdn scroll, ctrl+g closes", from+1, to, len(call))
		}
		lines = append(lines, terminal.Warning.Render(terminal.Fit(note, m.width)))
	}
	if ask.Truncated {
		lines = append(lines, terminal.Warning.Render(terminal.Fit("    the arguments are cut here: ctrl+y fetches all of them", m.width)))
	}
	return append(lines, terminal.Fit(m.decisionKeys(ask), m.width))
}

// visibleLines returns the range of a call's lines that fits into a panel of height lines. It never
// hides a single line, because the note about it would take as much space.
func (m Model) visibleLines(lines, height int) (from, to int) {
	room := max(1, height-4) // the head, the note on hidden lines, and the keys
	if !m.prompt.expanded {
		room = min(room, maxRequestLines)
	}
	if lines <= room+1 {
		return 0, lines
	}
	from = min(max(0, m.prompt.top), lines-room)
	return from, from + room
}

// callLines returns the number of lines of the call that waits, and the visible range.
func (m Model) callLines() (lines, from, to int) {
	ask, count := m.firstAsk(v1beta1.WaitingApproval)
	if count == 0 {
		return 0, 0, 0
	}
	lines = len(requestLines(ask, m.width-4))
	from, to = m.visibleLines(lines, m.panelHeight())
	return lines, from, to
}

// scrollCall shows the next or the previous page of the arguments.
func (m Model) scrollCall(pages int) Model {
	lines, from, to := m.callLines()
	m.prompt.top = min(max(0, from+pages*max(1, to-from)), max(0, lines-1))
	return m
}

// recordRead records that the last line of the call has been on the screen.
func (m Model) recordRead() Model {
	if m.changes.open() { // the panel is not on the screen
		return m
	}
	ask, _ := m.firstAsk(v1beta1.WaitingApproval)
	if lines, _, to := m.callLines(); lines > 0 && to == lines && !ask.Truncated {
		m.prompt.read = true
	}
	return m
}

// decisionKeys returns the keys that decide about the call, once they are active.
func (m Model) decisionKeys(ask view.Ask) string {
	switch {
	case m.prompt.decided:
		return terminal.Faint.Render("  sending your decision")
	case !m.prompt.ready:
		return terminal.Faint.Render("  …")
	}
	keys := terminal.Bold.Render("  ctrl+y") + " approve · " + terminal.Bold.Render("ctrl+n") + " deny"
	if ask.Editable {
		keys += " · " + terminal.Bold.Render("ctrl+e") + " edit"
	}
	if changesFile(ask) {
		keys += " · " + terminal.Bold.Render("ctrl+r") + " diff"
	}
	return keys + "; what you write becomes the comment"
}

func (m Model) questionLines(ask view.Ask, count int) []string {
	text := fmt.Sprintf("? %s asks: %s", agentLabel(ask), terminal.Clean(ask.Question))
	lines, _ := truncateLines(terminal.Wrap(terminal.Warning.Render(text), m.width), 5)
	hint := "  enter answers it · esc to talk to the orchestrator instead"
	if m.toOrchestrator {
		hint = "  enter talks to the orchestrator · esc to answer " + ask.Task
	}
	if count > 1 {
		hint += fmt.Sprintf(" · %d more questions", count-1)
	}
	return append(lines, terminal.Faint.Render(terminal.Fit(hint, m.width)))
}

func agentLabel(ask view.Ask) string {
	if ask.Role == "" {
		return ask.Task
	}
	return fmt.Sprintf("%s (%s)", terminal.Line(ask.Role), ask.Task)
}

// requestLines renders why policies require the approval of a call, and its arguments.
func requestLines(ask view.Ask, width int) []string {
	var lines []string
	for _, reason := range ask.Reasons {
		lines = append(lines, terminal.WrapExact(terminal.Exact(reason), width)...)
	}
	return append(lines, argumentLines(ask.Arguments, width)...)
}

// argumentLines renders the arguments of a call, one per line, with strings unquoted.
func argumentLines(arguments string, width int) []string {
	decoder := json.NewDecoder(strings.NewReader(arguments))
	var fields orderedFields
	if err := decoder.Decode(&fields); err != nil || decoder.More() {
		return terminal.WrapExact(terminal.Exact(arguments), width)
	}
	var lines []string
	for _, f := range fields {
		name, value := terminal.Exact(strconv.Quote(f.name)), strings.Split(terminal.Exact(f.text()), "\n")
		if plainName(f.name) {
			name = f.name
		}
		if len(value) == 1 {
			lines = append(lines, terminal.WrapExact(name+": "+value[0], width)...)
			continue
		}
		lines = append(lines, terminal.WrapExact(name+":", width)...)
		for _, line := range value {
			lines = append(lines, terminal.Indent(terminal.WrapExact(line, width-2), "  ")...)
		}
	}
	return lines
}

// plainName reports whether the name of an argument cannot be mistaken for anything else.
func plainName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == ""
}

type field struct {
	name  string
	value json.RawMessage
}

// text returns a string value unquoted, and any other value as JSON.
func (f field) text() string {
	var s string
	if json.Unmarshal(f.value, &s) == nil {
		return s
	}
	return string(f.value)
}

// orderedFields is a JSON object that keeps the order of its fields.
type orderedFields []field

func (o *orderedFields) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("not an object")
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		f := field{name: fmt.Sprint(name)}
		if err := decoder.Decode(&f.value); err != nil {
			return err
		}
		*o = append(*o, f)
	}
	return nil
}
