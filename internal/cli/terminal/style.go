// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"io"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"
)

// Styles of text. They use the terminal's own sixteen colours, which suit its background.
var (
	Bold    = lipgloss.NewStyle().Bold(true)
	Faint   = lipgloss.NewStyle().Faint(true)
	Good    = lipgloss.NewStyle().Foreground(lipgloss.Green)
	Bad     = lipgloss.NewStyle().Foreground(lipgloss.Red)
	Warning = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	Busy    = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	Accent  = lipgloss.NewStyle().Foreground(lipgloss.Blue).Bold(true)
)

// Writer returns a writer that reduces colours to those that out supports: none if it is not a terminal or if
// NO_COLOR is set.
func Writer(out io.Writer, environ []string) io.Writer {
	return colorprofile.NewWriter(out, environ)
}

// Phase colours the phase of a chat, task, sub-agent or message.
func Phase(phase string) string { return phaseStyle(phase).Render(phase) }

func phaseStyle(phase string) lipgloss.Style {
	switch phase {
	case "Success", "Completed", "Handled", "Ready":
		return Good
	case "Failed", "Rejected":
		return Bad
	case "Waiting", "WaitingForUser", "WaitingForApproval":
		return Warning
	case "Running", "Active", "WaitingForSubAgents":
		return Busy
	}
	return Faint
}

// Mark returns a sign of one column for a phase.
func Mark(phase string) string {
	sign := "·"
	switch phase {
	case "Success", "Completed":
		sign = "✓"
	case "Failed":
		sign = "✗"
	case "Cancelled":
		sign = "⊘"
	case "Waiting", "WaitingForUser", "WaitingForApproval":
		sign = "?"
	case "Running", "Active", "WaitingForSubAgents", "Cancelling":
		sign = "●"
	}
	return phaseStyle(phase).Render(sign)
}

// Columns returns the width of a terminal, or 0 if it is not known.
func Columns(fd uintptr) int {
	width, _, err := term.GetSize(fd)
	if err != nil {
		return 0
	}
	return width
}

// IsTerminal reports whether a file descriptor is a terminal.
func IsTerminal(fd uintptr) bool { return term.IsTerminal(fd) }
