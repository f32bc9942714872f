// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// ChangeLine is a line about a change: a line of a diff, or one that introduces it.
type ChangeLine struct {
	Text   string
	InDiff bool
}

// Render returns the line for a terminal, with every character visible and, unless columns is 0, at most that long.
func (l ChangeLine) Render(columns int) string {
	text := Exact(l.Text)
	if columns > 0 {
		text = Fit(text, columns)
	}
	return l.style().Render(text)
}

// Wrap returns the line with every character visible, as lines of at most width columns.
func (l ChangeLine) Wrap(width int) []string {
	lines := WrapExact(Exact(l.Text), width)
	for i, line := range lines {
		lines[i] = l.style().Render(line)
	}
	return lines
}

func (l ChangeLine) style() lipgloss.Style {
	if !l.InDiff {
		return Bold
	}
	return DiffStyle(l.Text[:min(2, len(l.Text))]) // only the sign: the content may look like the head of a file
}

func DiffStyle(line string) lipgloss.Style {
	switch {
	case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		return Bold
	case strings.HasPrefix(line, "+"):
		return Good
	case strings.HasPrefix(line, "-"):
		return Bad
	case strings.HasPrefix(line, "@@"):
		return Busy
	}
	return lipgloss.NewStyle()
}
