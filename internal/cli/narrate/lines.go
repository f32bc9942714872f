// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/live"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

// Speaker is who says a message.
func Speaker(m v1alpha1.AgentMessage) string {
	switch m.Spec.Role {
	case v1alpha1.RoleAssistant:
		return "nestor"
	case v1alpha1.RoleSystem:
		return "system"
	}
	return cmp.Or(terminal.Line(m.Spec.User), "you")
}

// Content is what a message says, in words.
func Content(m v1alpha1.AgentMessage) string {
	switch {
	case m.Spec.Approval != nil:
		verb := "approved"
		if m.Spec.Approval.Decision == v1alpha1.DecisionDeny {
			verb = "denied"
		}
		return withComment(fmt.Sprintf("(%s a call of %s)", verb, m.Spec.Approval.Task), m.Spec.Approval.Comment)
	case m.Spec.Cancel != nil && m.Spec.Cancel.Task != "":
		return fmt.Sprintf("(cancelled %s)", m.Spec.Cancel.Task)
	case m.Spec.Cancel != nil:
		return "(cancelled everything)"
	}
	return m.Spec.Content
}

func withComment(text, comment string) string {
	if comment == "" {
		return text
	}
	return text + " " + comment
}

func messageLines(m v1alpha1.AgentMessage, asks []live.Ask) []string {
	speaker := terminal.Accent.Render(Speaker(m) + ":")
	lines := strings.Split(strings.TrimRight(terminal.Clean(Content(m)), "\n"), "\n")
	lines[0] = speaker + " " + lines[0]
	for i := 1; i < len(lines); i++ {
		lines[i] = "  " + lines[i]
	}
	if i := slices.IndexFunc(asks, func(a live.Ask) bool { return a.Message == m.Name }); i >= 0 {
		lines = append(lines, terminal.Faint.Render("  "+Hint(asks[i])))
	}
	return lines
}

// Hint says what to type about something that waits for a person.
func Hint(a live.Ask) string {
	if a.Kind == v1alpha1.WaitingQuestion {
		return fmt.Sprintf("answer: kubectl nestor send %s \"...\"", a.Task)
	}
	return fmt.Sprintf("decide: kubectl nestor approve %s, or kubectl nestor deny %s --comment \"...\"", a.Task, a.Task)
}

func beginLines(n *live.Node, depth int) []string {
	what := n.Task.Spec.Instruction
	if n.Task.Spec.Type == v1alpha1.TaskTool && n.Task.Spec.Arguments != nil {
		what = string(n.Task.Spec.Arguments.Raw)
	}
	return []string{fmt.Sprintf("%s%s %s (%s): %s", strings.Repeat("  ", depth+1), terminal.Mark("Running"), n.Task.Name, n.Role(), brief(what))}
}

func endLines(n *live.Node, depth int) []string {
	status := n.Task.Status
	words := string(status.Phase)
	if status.Error != nil && status.Error.Kind != v1alpha1.ErrorCancelled {
		words += ", " + string(status.Error.Kind) + ": " + brief(status.Error.Message)
	}
	if status.Result != nil && status.Error == nil {
		words += ": " + brief(status.Result.Summary)
	}
	return []string{fmt.Sprintf("%s%s %s (%s): %s", strings.Repeat("  ", depth+1), terminal.Mark(string(status.Phase)), n.Task.Name, n.Role(), words)}
}

// brief is a text as one line that is not too long.
func brief(text string) string { return terminal.Fit(terminal.Line(text), 100) }
