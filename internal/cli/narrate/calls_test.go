// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"bytes"
	"strings"
	"testing"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
)

// TestResultsAreLabelled: two results of the same tool differ by the arguments of their calls.
func TestResultsAreLabelled(t *testing.T) {
	entries := []historyv1.Entry{
		{Seq: 1, Kind: historyv1.EntryAssistant, ToolCalls: []historyv1.ToolCall{
			{ID: "a", Tool: "read", Arguments: `{"path": "a.go"}`}, {ID: "b", Tool: "read", Arguments: `{"path": "b.go"}`},
		}},
		{Seq: 2, Kind: historyv1.EntryToolResult, Content: "package b", ToolCalls: []historyv1.ToolCall{{ID: "b", Tool: "read", Phase: historyv1.ToolCallSuccess}}},
		{Seq: 3, Kind: historyv1.EntryToolResult, Content: "package a", ToolCalls: []historyv1.ToolCall{{ID: "a", Tool: "read", Phase: historyv1.ToolCallSuccess}}},
		{Seq: 4, Kind: historyv1.EntryToolResult, Content: "lost", ToolCalls: []historyv1.ToolCall{{ID: "before --tail", Tool: "ls", Phase: historyv1.ToolCallSuccess}}},
	}
	var text, markdown bytes.Buffer
	printer, document := NewTranscriptPrinter(&text), NewMarkdownPrinter(&markdown, "Transcript")
	for _, e := range entries {
		printer.Print(e)
		document.Print(e)
	}
	for _, want := range []string{"tool read {\"path\":\"b.go\"}", "tool read {\"path\":\"a.go\"}", "tool ls"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(strings.ReplaceAll(markdown.String(), `\`, ""), want) {
			t.Errorf("%q is missing:\n%s\n%s", want, text.String(), markdown.String())
		}
	}
}
