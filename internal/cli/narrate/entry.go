// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

func title(e historyv1.Entry) string {
	child := terminal.Line(e.Child)
	switch e.Kind {
	case historyv1.EntryUser:
		return cmp.Or(terminal.Line(e.User), "user")
	case historyv1.EntryToolResult:
		for _, call := range e.ToolCalls {
			return "tool " + terminal.Line(call.Tool)
		}
		return "tool"
	case historyv1.EntryChildResult:
		return "result of " + child
	case historyv1.EntryQuestion:
		if e.Child == "" && len(e.ToolCalls) > 0 {
			return "tool " + terminal.Line(e.ToolCalls[0].Tool) + " asks"
		}
		return child + " asks"
	case historyv1.EntryApproval:
		return child + " needs approval"
	case historyv1.EntryAllowance:
		return cmp.Or(terminal.Line(e.User), "a user")
	case historyv1.EntryDecision:
		if e.Allowance != "" {
			return "allowed by " + cmp.Or(terminal.Line(e.User), "a user") + " for this chat"
		}
		text := cmp.Or(terminal.Line(e.User), "a user") + map[string]string{"Approve": " approved", "Deny": " denied", "": " decided"}[e.Decision]
		if slices.ContainsFunc(e.ToolCalls, func(c historyv1.ToolCall) bool { return c.Arguments != "" }) {
			text += " with changed arguments"
		}
		return text
	case historyv1.EntryCancelled:
		return "cancelled by " + cmp.Or(terminal.Line(e.User), "a user")
	}
	return strings.ToLower(string(e.Kind))
}

// detailLines returns the lines of an entry besides its content.
func detailLines(e historyv1.Entry, prompts bool) []string {
	var lines []string
	if prompts && e.SystemPrompt != "" {
		lines = append(lines, terminal.Faint.Render("system prompt:"))
		lines = append(lines, terminal.Indent(strings.Split(terminal.Clean(e.SystemPrompt), "\n"), "  ")...)
	}
	for _, image := range e.Images {
		lines = append(lines, attachedLine(image.Name, image.MediaType, image.Size))
	}
	for _, call := range e.ToolCalls {
		lines = append(lines, callLines(e, call)...)
	}
	for _, child := range e.Children {
		line := fmt.Sprintf("%s %s (%s)", terminal.Busy.Render("▸"), terminal.Line(child.Name), terminal.Line(cmp.Or(child.Role, child.Tool)))
		if child.Instruction != "" {
			line += ": " + brief(child.Instruction)
		}
		lines = append(lines, line)
	}
	if e.Error != "" {
		lines = append(lines, terminal.Bad.Render("✗ "+terminal.Line(e.Error)))
	}
	if e.Truncated {
		lines = append(lines, terminal.Warning.Render("the reply reached the limit of output tokens and is truncated"))
	}
	if e.Outcome != nil {
		lines = append(lines, outcomeLines(*e.Outcome)...)
	}
	return lines
}

func callLines(e historyv1.Entry, call historyv1.ToolCall) []string {
	phase := string(call.Phase)
	if call.Arguments == "" && call.Result == "" && call.Phase == historyv1.ToolCallSuccess {
		return nil // an earlier entry has the call; the content is its outcome
	}
	if e.Kind == historyv1.EntryToolResult && call.Arguments == "" {
		return []string{terminal.Phase(phase)}
	}
	if call.Tool == "" {
		return nil // the call of a child that asks; the title has it
	}
	line := strings.TrimRight(fmt.Sprintf("→ %s %s", terminal.Line(call.Tool), compact(call.Arguments)), " ")
	if call.Phase != historyv1.ToolCallRunning && call.Phase != historyv1.ToolCallSuccess {
		line += "  " + terminal.Phase(phase)
	}
	lines := []string{line}
	if call.Result != "" {
		lines = append(lines, terminal.Indent(strings.Split(strings.TrimRight(terminal.Clean(call.Result), "\n"), "\n"), "  ")...)
	}
	return lines
}

// compact returns the arguments of a call as one line. Spaces inside of texts stay.
func compact(arguments string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(arguments)) != nil {
		return terminal.Line(terminal.JSON(arguments))
	}
	return terminal.Clean(terminal.JSON(out.String()))
}

func outcomeLines(o historyv1.Outcome) []string {
	if o.ErrorKind != "" {
		lines := []string{terminal.Bad.Render("✗ ended: " + terminal.Line(o.ErrorKind+": "+o.Error))}
		if o.Result != "" {
			lines = append(lines, terminal.Indent(strings.Split(terminal.Clean(o.Result), "\n"), "  ")...)
		}
		return lines
	}
	lines := []string{terminal.Good.Render("✓ done: " + terminal.Line(o.Summary))}
	for _, part := range []string{o.Result, o.Details} {
		if part != "" && part != o.Summary {
			lines = append(lines, terminal.Indent(strings.Split(terminal.Clean(part), "\n"), "  ")...)
		}
	}
	if o.Data != nil {
		lines = append(lines, "  data: "+terminal.Line(terminal.JSON(o.Data.Raw)))
	}
	return lines
}

func AttachmentLines(m v1beta1.AgentMessage) []string {
	var lines []string
	for _, a := range m.Spec.Attachments {
		size := int64(len(a.Data))
		if a.ConfigMapKeyRef != nil {
			lines = append(lines, fmt.Sprintf("[%s, %s, ConfigMap %s]", terminal.Line(a.Name), terminal.Line(a.MediaType), terminal.Line(a.ConfigMapKeyRef.Name)))
			continue
		}
		lines = append(lines, attachedLine(a.Name, a.MediaType, size))
	}
	return lines
}

// attachedLine describes an image or another attachment.
func attachedLine(name, mediaType string, size int64) string {
	parts := []string{terminal.Line(mediaType), fmt.Sprintf("%d bytes", size)}
	if size >= 1<<10 {
		parts[1] = fmt.Sprintf("%d KB", size>>10)
	}
	if name != "" {
		parts = append([]string{terminal.Line(name)}, parts...)
	}
	kind := ""
	if strings.HasPrefix(mediaType, "image/") {
		kind = "image "
	}
	return "[" + kind + strings.Join(parts, ", ") + "]"
}
