// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/live"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

// panel tells what waits for the person, in at most so many lines. What to do comes last and is never cut off.
func (m Model) panel(most int) []string {
	var asked []string
	if ask, count := m.asked(v1alpha1.WaitingQuestion); count > 0 {
		asked = m.question(ask, count)
	}
	ask, count := m.asked(v1alpha1.WaitingApproval)
	if count == 0 {
		return asked
	}
	return append(m.approval(ask, count, most-len(asked)), asked...)
}

func (m Model) approval(ask live.Ask, count, most int) []string {
	head := terminal.Warning.Render(fmt.Sprintf("! %s wants to run %s", who(ask), terminal.Line(ask.Tool)))
	if count > 1 {
		head += terminal.Faint.Render(fmt.Sprintf("  (1 of %d)", count))
	}
	lines := []string{terminal.Fit(head, m.width)}
	arguments := argumentLines(ask.Arguments, m.width-4)
	room := max(1, most-4) // the head, the remark on what is left out, and the choice
	if !m.prompt.whole {
		room = min(room, requestLines)
	}
	shown, rest := cut(arguments, room)
	lines = append(lines, terminal.Indent(shown, "    ")...)
	if rest > 0 {
		words := fmt.Sprintf("    … %d more lines: ctrl+g shows more", rest)
		if m.prompt.whole {
			words = fmt.Sprintf("    … %d more lines: kubectl nestor approve shows all of it", rest)
		}
		lines = append(lines, terminal.Warning.Render(terminal.Fit(words, m.width)))
	}
	if ask.Cut {
		lines = append(lines, terminal.Warning.Render(terminal.Fit("    the arguments are cut: kubectl nestor transcript "+ask.Task+" has all of them", m.width)))
	}
	return append(lines, terminal.Fit(m.choice(), m.width))
}

// choice says which keys decide about the call that is shown, once they do.
func (m Model) choice() string {
	switch {
	case m.prompt.decided:
		return terminal.Faint.Render("  your decision is on its way")
	case !m.prompt.ready:
		return terminal.Faint.Render("  …")
	}
	return terminal.Bold.Render("  ctrl+y") + " approve · " + terminal.Bold.Render("ctrl+n") + " deny; what you write becomes the comment"
}

func (m Model) question(ask live.Ask, count int) []string {
	text := fmt.Sprintf("? %s asks: %s", who(ask), terminal.Clean(ask.Question))
	lines, _ := cut(terminal.Wrap(terminal.Warning.Render(text), m.width), 5)
	hint := "  enter answers it · esc to talk to the orchestrator instead"
	if m.aside {
		hint = "  enter talks to the orchestrator · esc to answer " + ask.Task
	}
	if count > 1 {
		hint += fmt.Sprintf(" · %d more questions", count-1)
	}
	return append(lines, terminal.Faint.Render(terminal.Fit(hint, m.width)))
}

func who(ask live.Ask) string {
	if ask.Role == "" {
		return ask.Task
	}
	return fmt.Sprintf("%s (%s)", terminal.Line(ask.Role), ask.Task)
}

// argumentLines shows the arguments of a call: one a line, with texts as they are rather than as JSON.
func argumentLines(arguments string, width int) []string {
	decoder := json.NewDecoder(strings.NewReader(arguments))
	var fields orderedFields
	if err := decoder.Decode(&fields); err != nil || decoder.More() {
		return terminal.Wrap(terminal.Clean(arguments), width)
	}
	var lines []string
	for _, f := range fields {
		value := strings.Split(strings.TrimRight(terminal.Clean(f.text()), "\n"), "\n")
		if len(value) == 1 {
			lines = append(lines, terminal.Wrap(terminal.Line(f.name)+": "+value[0], width)...)
			continue
		}
		lines = append(lines, terminal.Line(f.name)+":")
		for _, line := range value {
			lines = append(lines, terminal.Indent(terminal.Wrap(line, width-2), "  ")...)
		}
	}
	return lines
}

type field struct {
	name  string
	value json.RawMessage
}

// text is a string as it is, and anything else as JSON.
func (f field) text() string {
	var s string
	if json.Unmarshal(f.value, &s) == nil {
		return s
	}
	return string(f.value)
}

// orderedFields is a JSON object whose fields stay in order: what comes first was meant to be read first.
type orderedFields []field

// UnmarshalJSON implements json.Unmarshaler.
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
