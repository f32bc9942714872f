// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/narrate"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

// blockSpan is the range of lines of a block.
type blockSpan struct {
	task      string
	line, end int
}

// canvas collects the lines of the conversation.
type canvas struct {
	lines  []string
	blocks []blockSpan
}

func (s *canvas) write(lines ...string) { s.lines = append(s.lines, lines...) }

// blankLine writes a blank line unless the last line is blank.
func (s *canvas) blankLine() {
	if n := len(s.lines); n > 0 && s.lines[n-1] != "" {
		s.write("")
	}
}

// conversation renders the messages, each followed by the tasks that it led to.
func (m Model) conversation() canvas {
	var s canvas
	tree := m.snapshot.Tree(m.chat)
	shown := map[string]bool{}
	for _, message := range m.snapshot.Messages {
		request, asks := postedRequest(message)
		switch {
		case narrate.DescribeAction(message) != "":
			s.write("  " + terminal.Fit(m.actionLine(message), m.width-2))
		case asks:
			s.write(m.approvalRequestLines(message.Spec.Task, request)...)
		default:
			s.blankLine()
			m.writeMessage(&s, message)
		}
		for _, node := range tree {
			if node.Task.Spec.TriggerMessage == message.Name {
				shown[node.Task.Name] = true
				m.writeBlock(&s, node, "  ")
			}
		}
	}
	s.blankLine()
	for _, node := range tree {
		if !shown[node.Task.Name] {
			m.writeBlock(&s, node, "  ")
		}
	}
	text, reasoning := m.streams[""], m.reasoningLine("", m.width-2)
	if text != "" || reasoning != "" {
		s.blankLine()
		s.write(terminal.Accent.Render("nestor") + terminal.Faint.Render(" …"))
	}
	if reasoning != "" {
		s.write("  " + terminal.Faint.Render(terminal.Fit(reasoning, m.width-2)))
	}
	if text != "" {
		s.write(terminal.Indent(m.pages.renderUncached(text, m.width-2), "  ")...)
	}
	if len(s.lines) == 0 && m.loaded {
		s.write("", terminal.Faint.Render("  Nothing has been said yet. Write a message below and press Enter."))
	}
	return s
}

func (m Model) writeMessage(s *canvas, message v1beta1.AgentMessage) {
	head := terminal.Accent.Render(narrate.Sender(message)) + terminal.Faint.Render(" "+message.CreationTimestamp.Local().Format("15:04"))
	s.write(terminal.Fit(head+messageState(message), m.width))
	if message.Spec.Role == v1beta1.RoleUser || message.Spec.Role == "" {
		s.write(terminal.Indent(terminal.Wrap(terminal.Clean(message.Spec.Content), m.width-2), "  ")...)
		for _, line := range narrate.AttachmentLines(message) {
			s.write("  " + terminal.Faint.Render(terminal.Fit(line, m.width-2)))
		}
		return
	}
	s.write(terminal.Indent(m.pages.markdown(message.Spec.Content, m.width-2), "  ")...)
}

// messageState returns a note on the state of a person's message, if it was rejected or is not handled yet.
func messageState(message v1beta1.AgentMessage) string {
	switch {
	case message.Spec.Role != v1beta1.RoleUser || message.Status.Phase == v1beta1.MessageHandled:
		return ""
	case message.Status.Phase == v1beta1.MessageRejected:
		return terminal.Bad.Render(" · rejected: " + terminal.Line(message.Status.Reason))
	}
	return terminal.Faint.Render(" · not handled yet")
}

// actionLine renders a message without content as one line.
func (m Model) actionLine(message v1beta1.AgentMessage) string {
	sign := terminal.Mark("Success")
	if approval := message.Spec.Approval; approval == nil || approval.Decision == v1beta1.DecisionDeny {
		sign = terminal.Mark("Cancelled")
	}
	return sign + " " + terminal.Faint.Render(narrate.Sender(message)+" "+terminal.Line(narrate.DescribeAction(message))) + messageState(message)
}

// postedRequest returns the request for approval in a message, and whether it is one.
func postedRequest(message v1beta1.AgentMessage) (view.Request, bool) {
	request, ok := view.PostedRequest(message.Spec.Content)
	return request, ok && message.Annotations[v1beta1.AnnotationCall] != ""
}

// maxRequestLines limits the lines of a call in the conversation.
const maxRequestLines = 6

// approvalRequestLines renders a request for approval: the agent, the tool, the reasons of policies, and the arguments.
func (m Model) approvalRequestLines(task string, r view.Request) []string {
	head := fmt.Sprintf("Agent %s asks for approval of %s (%s)", r.Who, r.Tool, task)
	lines := []string{"  " + terminal.Fit(terminal.Mark("Waiting")+" "+terminal.Line(head), m.width-2)}
	shown, rest := truncateLines(requestLines(view.Ask{Reasons: r.Reasons, Arguments: r.Arguments}, m.width-4), maxRequestLines)
	for _, line := range shown {
		lines = append(lines, "    "+terminal.Faint.Render(line))
	}
	if rest > 0 {
		lines = append(lines, terminal.Faint.Render(fmt.Sprintf("    … %d more lines", rest)))
	}
	return lines
}

// truncateLines returns at most limit+1 lines and the number of omitted lines. It never omits a single line, because the
// note about it would take as much space.
func truncateLines(lines []string, limit int) ([]string, int) {
	if len(lines) <= limit+1 {
		return lines, 0
	}
	return lines[:limit], len(lines) - limit
}

// title returns the role, phase and figures of a task.
func (m Model) title(n *view.Node) string {
	parts := []string{terminal.Phase(n.Phase())}
	if it := n.Iterations(); it > 0 {
		parts = append(parts, fmt.Sprintf("%d it", it))
	}
	if tokens := n.Usage().TotalTokens; tokens > 0 {
		parts = append(parts, terminal.Count(tokens)+" tok")
	}
	if took := m.duration(n); took != "" {
		parts = append(parts, took)
	}
	return terminal.Mark(n.Phase()) + " " + terminal.Bold.Render(n.Task.Name) + " " + terminal.Line(n.Role()) + " " +
		strings.Join(parts, terminal.Faint.Render(" · "))
}
