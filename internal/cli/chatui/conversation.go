// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/live"
	"github.com/nestor-dev/nestor/internal/cli/narrate"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

// place is the range of lines of a block.
type place struct {
	task      string
	line, end int
}

// sheet collects the lines of the conversation.
type sheet struct {
	lines  []string
	blocks []place
}

func (s *sheet) write(lines ...string) { s.lines = append(s.lines, lines...) }

// gap writes a blank line unless the last line is blank.
func (s *sheet) gap() {
	if n := len(s.lines); n > 0 && s.lines[n-1] != "" {
		s.write("")
	}
}

// conversation renders the messages, each followed by the tasks that it led to.
func (m Model) conversation() sheet {
	var s sheet
	tree := m.snapshot.Tree(m.chat)
	shown := map[string]bool{}
	for _, message := range m.snapshot.Messages {
		switch {
		case narrate.Deed(message) != "":
			s.write("  " + terminal.Fit(m.deed(message), m.width-2))
		case asksApproval(message):
			s.write(m.request(message)...)
		default:
			s.gap()
			m.writeMessage(&s, message)
		}
		for _, node := range tree {
			if node.Task.Spec.TriggerMessage == message.Name {
				shown[node.Task.Name] = true
				m.writeBlock(&s, node, "  ")
			}
		}
	}
	s.gap()
	for _, node := range tree {
		if !shown[node.Task.Name] {
			m.writeBlock(&s, node, "  ")
		}
	}
	if text := m.streams[""]; text != "" {
		s.gap()
		s.write(terminal.Accent.Render("nestor") + terminal.Faint.Render(" …"))
		s.write(terminal.Indent(m.pages.live(text, m.width-2), "  ")...)
	}
	if len(s.lines) == 0 && m.seen {
		s.write("", terminal.Faint.Render("  Nothing has been said yet. Write a message below and press Enter."))
	}
	return s
}

func (m Model) writeMessage(s *sheet, message v1alpha1.AgentMessage) {
	head := terminal.Accent.Render(narrate.Speaker(message)) + terminal.Faint.Render(" "+message.CreationTimestamp.Local().Format("15:04"))
	s.write(terminal.Fit(head+fate(message), m.width))
	if message.Spec.Role == v1alpha1.RoleUser || message.Spec.Role == "" {
		s.write(terminal.Indent(terminal.Wrap(terminal.Clean(message.Spec.Content), m.width-2), "  ")...)
		return
	}
	s.write(terminal.Indent(m.pages.markdown(message.Spec.Content, m.width-2), "  ")...)
}

// fate returns a note on the state of a person's message, if it was rejected or is not handled yet.
func fate(message v1alpha1.AgentMessage) string {
	switch {
	case message.Spec.Role != v1alpha1.RoleUser || message.Status.Phase == v1alpha1.MessageHandled:
		return ""
	case message.Status.Phase == v1alpha1.MessageRejected:
		return terminal.Bad.Render(" · rejected: " + terminal.Line(message.Status.Reason))
	}
	return terminal.Faint.Render(" · not handled yet")
}

// deed renders a decision or a cancellation as one line.
func (m Model) deed(message v1alpha1.AgentMessage) string {
	sign := terminal.Mark("Success")
	if message.Spec.Cancel != nil || message.Spec.Approval.Decision == v1alpha1.DecisionDeny {
		sign = terminal.Mark("Cancelled")
	}
	return sign + " " + terminal.Faint.Render(narrate.Speaker(message)+" "+terminal.Line(narrate.Deed(message))) + fate(message)
}

func asksApproval(message v1alpha1.AgentMessage) bool {
	return message.Annotations[v1alpha1.AnnotationCall] != "" && strings.Contains(message.Spec.Content, " asks for approval of ")
}

// requestLines limits the lines of a call's arguments in the conversation.
const requestLines = 6

// request renders a request for approval: the agent, the tool and the arguments.
func (m Model) request(message v1alpha1.AgentMessage) []string {
	sentence, arguments, _ := strings.Cut(message.Spec.Content, ":\n")
	sentence, _, _ = strings.Cut(sentence, " (task ")
	lines := []string{"  " + terminal.Fit(terminal.Mark("Waiting")+" "+terminal.Line(strings.ReplaceAll(sentence, "`", ""))+" ("+terminal.Line(message.Spec.About)+")", m.width-2)}
	shown, rest := cut(argumentLines(arguments, m.width-4), requestLines)
	for _, line := range shown {
		lines = append(lines, "    "+terminal.Faint.Render(line))
	}
	if rest > 0 {
		lines = append(lines, terminal.Faint.Render(fmt.Sprintf("    … %d more lines", rest)))
	}
	return lines
}

// cut returns the first lines and the number of lines left out. It never leaves out a single line, because the note
// about it would take as much room.
func cut(lines []string, most int) ([]string, int) {
	if len(lines) <= most+1 {
		return lines, 0
	}
	return lines[:most], len(lines) - most
}

// title returns the role, phase and figures of a task.
func (m Model) title(n *live.Node) string {
	parts := []string{terminal.Phase(n.Phase())}
	if it := n.Iterations(); it > 0 {
		parts = append(parts, fmt.Sprintf("%d it", it))
	}
	if tokens := n.Usage().TotalTokens; tokens > 0 {
		parts = append(parts, terminal.Count(tokens)+" tok")
	}
	if took := m.took(n); took != "" {
		parts = append(parts, took)
	}
	return terminal.Mark(n.Phase()) + " " + terminal.Bold.Render(n.Task.Name) + " " + terminal.Line(n.Role()) + " " +
		strings.Join(parts, terminal.Faint.Render(" · "))
}
