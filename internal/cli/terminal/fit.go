// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// Width returns the number of columns of text, without its colours.
func Width(text string) int { return ansi.StringWidth(text) }

// Fit truncates a line to a width, with an ellipsis.
func Fit(line string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(line, width, shorten.Ellipsis)
}

// Pad pads a line with spaces to a width, or truncates it.
func Pad(line string, width int) string {
	line = Fit(line, width)
	return line + strings.Repeat(" ", max(0, width-Width(line)))
}

// Wrap breaks text into lines of at most width columns, at spaces where possible.
func Wrap(text string, width int) []string {
	return strings.Split(ansi.Wrap(text, max(1, width), ""), "\n")
}

// WrapExact breaks text into lines of at most width columns and keeps every space.
func WrapExact(text string, width int) []string {
	return strings.Split(ansi.Hardwrap(text, max(1, width), true), "\n")
}

// Indent puts a prefix before every line.
func Indent(lines []string, prefix string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = prefix + line
	}
	return out
}
