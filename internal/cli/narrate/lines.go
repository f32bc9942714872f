// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

// Sender returns the name of a message's author.
func Sender(m v1beta1.AgentMessage) string {
	switch m.Spec.Role {
	case v1beta1.RoleAssistant:
		return "nestor"
	case v1beta1.RoleSystem:
		return "system"
	}
	return cmp.Or(terminal.Line(m.Spec.User), "you")
}

// DescribeAction describes a message without content: a decision, a cancellation or the end of an allowance.
func DescribeAction(m v1beta1.AgentMessage) string {
	switch {
	case m.Spec.Approval != nil:
		verb := "approved"
		if m.Spec.Approval.Decision == v1beta1.DecisionDeny {
			verb = "denied"
		}
		text := fmt.Sprintf("%s a call of %s", verb, m.Spec.Approval.Task)
		if m.Spec.Approval.Allow != nil {
			text += " and allowed its tool for this chat"
		}
		if m.Spec.Approval.Comment != "" {
			text += ": " + m.Spec.Approval.Comment
		}
		return text
	case m.Spec.Revoke != nil:
		return "revoked the allowance " + m.Spec.Revoke.Allowance
	case m.Spec.Cancel != nil && m.Spec.Cancel.Task != "":
		return "cancelled " + m.Spec.Cancel.Task
	case m.Spec.Cancel != nil:
		return "cancelled everything"
	}
	return ""
}

// Text returns the text of a message for a terminal.
func Text(m v1beta1.AgentMessage) string {
	content := m.Spec.Content
	if m.Annotations[v1beta1.AnnotationCall] != "" { // it ends with the arguments of a call
		content = terminal.JSON(content)
	}
	return strings.TrimRight(terminal.Clean(content), "\n")
}

func messageLines(m v1beta1.AgentMessage) []string {
	if action := DescribeAction(m); action != "" {
		return []string{terminal.Accent.Render(Sender(m)) + " " + terminal.Line(action)}
	}
	lines := strings.Split(Text(m), "\n")
	lines[0] = terminal.Accent.Render(Sender(m)+":") + " " + lines[0]
	for i := 1; i < len(lines); i++ {
		lines[i] = "  " + lines[i]
	}
	return lines
}

// Command returns the command that answers a question or approves a call.
func Command(a view.Ask) string {
	if a.Kind == v1beta1.WaitingQuestion {
		return fmt.Sprintf("kubectl nestor send %s \"...\"", a.Task)
	}
	return "kubectl nestor approve " + a.Task
}

// Hint returns the commands that resolve an ask.
func Hint(a view.Ask) string {
	if a.Kind == v1beta1.WaitingQuestion {
		return "answer: " + Command(a)
	}
	return fmt.Sprintf("decide: kubectl nestor approve %s, or kubectl nestor deny %s --comment \"...\"", a.Task, a.Task)
}

func beginLines(n *view.Node, depth int) []string {
	what := n.Task.Spec.Instruction
	if n.Task.Spec.Type == v1beta1.TaskTool && n.Task.Spec.Arguments != nil {
		what = terminal.JSON(n.Task.Spec.Arguments.Raw)
	}
	return []string{fmt.Sprintf("%s%s %s (%s): %s", strings.Repeat("  ", depth+1), terminal.Mark("Running"), n.Task.Name, n.Role(), brief(what))}
}

func endLines(n *view.Node, depth int) []string {
	status := n.Task.Status
	text := string(status.Phase)
	if status.Error != nil && status.Error.Kind != v1beta1.ErrorCancelled {
		text += ", " + string(status.Error.Kind) + ": " + brief(status.Error.Message)
	}
	if status.Result != nil && status.Error == nil {
		text += ": " + brief(status.Result.Summary)
	}
	return []string{fmt.Sprintf("%s%s %s (%s): %s", strings.Repeat("  ", depth+1), terminal.Mark(string(status.Phase)), n.Task.Name, n.Role(), text)}
}

// brief returns text as one line of limited length.
func brief(text string) string { return terminal.Fit(terminal.Line(text), 100) }
