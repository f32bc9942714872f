// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/view"
)

// writeBlock writes a task as one line and below it its activity or, if the block is open, the details of its status
// with the blocks of its sub-agents inside.
func (m Model) writeBlock(s *canvas, n *view.Node, indent string) {
	at := len(s.blocks)
	s.blocks = append(s.blocks, blockSpan{task: n.Task.Name, line: len(s.lines)})
	defer func() { s.blocks[at].end = len(s.lines) - 1 }()
	arrow := "▸ "
	if m.expanded[n.Task.Name] {
		arrow = "▾ "
	}
	head := terminal.Fit(arrow+m.title(n), m.width-terminal.Width(indent))
	if m.focused && m.selected == n.Task.Name {
		head = selectedStyle.Render(ansi.Strip(head))
	}
	s.write(indent + head)
	inner := indent + terminal.Faint.Render("│ ")
	width := m.width - terminal.Width(inner)
	if !m.expanded[n.Task.Name] {
		if line := m.activity(n); line != "" {
			s.write(indent + "  " + terminal.Faint.Render(terminal.Fit(line, width)))
		}
		return
	}
	s.write(terminal.Indent(m.details(n, width), inner)...)
	for _, child := range n.Children {
		m.writeBlock(s, child, inner)
	}
	s.write(terminal.Indent(m.outcomeLines(n, width), inner)...)
}

var selectedStyle = lipgloss.NewStyle().Reverse(true)

// activity returns the line of a closed block: the current work, or its outcome.
func (m Model) activity(n *view.Node) string {
	status := n.Task.Status
	still := n.WaitState()
	switch {
	case still != nil:
		return terminal.Line(still.String())
	case status.Error != nil:
		return terminal.Line(string(status.Error.Kind) + ": " + status.Error.Message)
	case n.Ended() && status.Result != nil:
		return terminal.Line(status.Result.Summary)
	case n.Ended():
		return ""
	case status.Waiting != nil && status.Waiting.Kind == v1beta1.WaitingQuestion:
		return "asks: " + terminal.Line(status.Waiting.Text)
	case status.Waiting != nil:
		return "wants to run: " + terminal.Line(status.Waiting.Text)
	case m.streams[n.Task.Name] != "":
		return shorten.Tail(terminal.Line(m.streams[n.Task.Name]), m.width/2+1)
	case m.reasoning[n.Task.Name] != "":
		return m.reasoningLine(n.Task.Name, m.width/2+1)
	}
	if progress := n.ToolProgress(); progress != "" {
		return terminal.Line(progress)
	}
	if n.Agent != nil {
		if calls := n.Agent.Status.ToolCalls; len(calls) > 0 {
			return terminal.Line(calls[len(calls)-1].Tool + " " + view.Arguments(calls[len(calls)-1]))
		}
	}
	return terminal.Line(instruction(n))
}

func instruction(n *view.Node) string {
	if n.Task.Spec.Type == v1beta1.TaskTool && n.Task.Spec.Arguments != nil {
		return terminal.JSON(n.Task.Spec.Arguments.Raw)
	}
	return n.Task.Spec.Instruction
}

// maxDetailLines limits the lines of each text in an open block.
const maxDetailLines = 8

// details returns the lines of an open block.
func (m Model) details(n *view.Node, width int) []string {
	lines, rest := truncateLines(terminal.Wrap(terminal.Clean(instruction(n)), width), maxDetailLines)
	if rest > 0 {
		lines = append(lines, terminal.Faint.Render(fmt.Sprintf("… %d more lines", rest)))
	}
	if p := n.Task.Status.Progress; p != "" && !n.Ended() {
		lines = append(lines, terminal.Faint.Render(terminal.Fit(terminal.Line(p), width)))
	}
	if still := n.WaitState(); still != nil {
		lines = append(lines, terminal.Wrap(terminal.Warning.Render(terminal.Line(still.String())), width)...)
	}
	if n.Agent == nil {
		return lines
	}
	for _, call := range n.Agent.Status.ToolCalls {
		lines = append(lines, terminal.Fit(terminal.Mark(callPhase(call.Phase))+" "+terminal.Line(call.Tool+" "+view.Arguments(call)), width))
		if call.Progress != "" {
			lines = append(lines, terminal.Faint.Render(terminal.Fit("  "+terminal.Line(call.Progress), width)))
		}
		if call.Error != "" {
			lines = append(lines, terminal.Bad.Render(terminal.Fit("  "+terminal.Line(call.Error), width)))
		}
	}
	if question := n.Agent.Status.Question; question != "" {
		lines = append(lines, terminal.Indent(terminal.Wrap(terminal.Warning.Render("asks: "+terminal.Clean(question)), width), "")...)
	}
	if reasoning := m.reasoningLine(n.Task.Name, width); reasoning != "" {
		lines = append(lines, terminal.Faint.Render(terminal.Fit(reasoning, width)))
	}
	if text := m.streams[n.Task.Name]; text != "" {
		all := m.pages.renderUncached(text, width)
		lines = append(lines, all[max(0, len(all)-maxDetailLines):]...)
	}
	return lines
}

// callPhase maps the phase of a tool call to that of a task, for which there are signs.
func callPhase(p v1beta1.ToolCallPhase) string {
	switch p {
	case v1beta1.ToolCallDenied, v1beta1.ToolCallUnknown:
		return "Failed"
	}
	return string(p)
}

// outcomeLines returns the lines about the outcome of the work.
func (m Model) outcomeLines(n *view.Node, width int) []string {
	var lines []string
	if e := n.Task.Status.Error; e != nil {
		lines = append(lines, terminal.Wrap(terminal.Bad.Render(terminal.Line(string(e.Kind)+": "+e.Message)), width)...)
	}
	if r := n.Task.Status.Result; r != nil {
		for _, text := range []string{r.Summary, r.Details} {
			shown, rest := truncateLines(m.pages.markdown(text, width), maxDetailLines)
			lines = append(lines, shown...)
			if rest > 0 {
				lines = append(lines, terminal.Faint.Render(fmt.Sprintf("… %d more lines: kubectl nestor transcript %s", rest, n.Task.Name)))
			}
		}
	}
	return lines
}

// duration returns how long the work took, or has taken so far.
func (m Model) duration(n *view.Node) string {
	status := n.Task.Status
	switch {
	case status.StartTime == nil:
		return ""
	case status.CompletionTime != nil:
		return duration.HumanDuration(status.CompletionTime.Sub(status.StartTime.Time))
	}
	return duration.HumanDuration(max(0, m.now.Sub(status.StartTime.Time).Truncate(time.Second)))
}
