// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"fmt"
	"io"
	"strings"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// TranscriptPrinter prints a transcript entry by entry, with replies as they stream in.
type TranscriptPrinter struct {
	// Prompts also prints system prompts.
	Prompts bool
	// Reasoning prints the reasoning of models in full instead of its beginning.
	Reasoning bool

	out        io.Writer
	calls      calls
	started    bool   // an entry has been printed
	call       string // the model call of the streamed reply
	streamed   string // the part of it that was printed
	incomplete bool   // deltas of it are missing or void
	reasoning  bool   // the header of a reply was printed because its reasoning streams in
}

func NewTranscriptPrinter(out io.Writer) *TranscriptPrinter {
	return &TranscriptPrinter{out: out, calls: calls{}}
}

func (t *TranscriptPrinter) Print(e historyv1.Entry) {
	if e.Kind == historyv1.EntryDelta {
		t.printDelta(e)
		return
	}
	label := t.calls.label(e)
	streaming, whole, announced := t.streamed != "", t.streamed == e.Content && !t.incomplete, t.reasoning
	t.streamed, t.incomplete, t.reasoning = "", false, false
	switch {
	case e.Kind == historyv1.EntryAssistant && streaming:
		t.endStream(e, whole)
		t.printReasoning(e.Reasoning)
	case e.Kind == historyv1.EntryAssistant && announced:
		t.printReasoning(e.Reasoning)
		t.printText(e.Content)
	default:
		if streaming {
			fmt.Fprintln(t.out)
		}
		t.printHeader(e, label)
		t.printReasoning(e.Reasoning)
		t.printText(e.Content)
	}
	details := detailLines(e, t.Prompts)
	if e.Kind == historyv1.EntryAssistant && e.Content == "" && e.Reasoning == "" && len(details) == 0 {
		details = []string{terminal.Faint.Render("(ended its turn without text)")}
	}
	for _, line := range details {
		fmt.Fprintln(t.out, "  "+line)
	}
}

// printDelta prints the next delta of a reply.
func (t *TranscriptPrinter) printDelta(e historyv1.Entry) {
	if e.Delta == nil {
		return
	}
	if e.Delta.Reasoning != "" && t.streamed == "" && !t.reasoning {
		t.reasoning = true
		t.printHeader(historyv1.Entry{Time: e.Time, Seq: e.Seq + 1}, title(historyv1.Entry{Kind: historyv1.EntryAssistant}))
		fmt.Fprintln(t.out, terminal.Faint.Render("  (reasoning)"))
	}
	if e.Delta.Text == "" {
		return
	}
	if e.Delta.Lost || (t.streamed != "" && e.ModelCall != t.call) {
		t.incomplete = true // the call is retried, or the reply is too long
	}
	t.call = e.ModelCall
	if t.streamed == "" {
		if !t.reasoning {
			t.printHeader(historyv1.Entry{Time: e.Time, Seq: e.Seq + 1}, title(historyv1.Entry{Kind: historyv1.EntryAssistant}))
		}
		fmt.Fprint(t.out, "  ")
	}
	if t.incomplete {
		return // the entry of the reply has all of it
	}
	t.streamed += e.Delta.Text
	fmt.Fprint(t.out, strings.ReplaceAll(terminal.Clean(e.Delta.Text), "\n", "\n  "))
}

// endStream ends a streamed reply, and prints it again if deltas were missing.
func (t *TranscriptPrinter) endStream(e historyv1.Entry, whole bool) {
	fmt.Fprintln(t.out)
	if !whole {
		fmt.Fprintln(t.out, terminal.Faint.Render("  (complete reply)"))
		t.printText(e.Content)
	}
}

func (t *TranscriptPrinter) printHeader(e historyv1.Entry, label string) {
	if t.started {
		fmt.Fprintln(t.out)
	}
	t.started = true
	at := ""
	if !e.Time.IsZero() {
		at = " " + e.Time.Local().Format("15:04:05")
	}
	fmt.Fprintln(t.out, terminal.Accent.Render(label)+terminal.Faint.Render(fmt.Sprintf("  #%d%s", e.Seq, at)))
}

func (t *TranscriptPrinter) printText(content string) {
	content = strings.TrimRight(terminal.Clean(content), "\n")
	if content == "" {
		return
	}
	for line := range strings.SplitSeq(content, "\n") {
		fmt.Fprintln(t.out, "  "+line)
	}
}

// reasoningLines is how many lines of a reasoning are printed unless it is printed in full.
const reasoningLines = 3

// printReasoning prints the reasoning before a reply as a marked block.
func (t *TranscriptPrinter) printReasoning(text string) {
	text = strings.TrimSpace(terminal.Clean(text))
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	if rest := len(lines) - reasoningLines; rest > 1 && !t.Reasoning {
		lines = append(lines[:reasoningLines:reasoningLines], fmt.Sprintf("… %d more lines: --reasoning prints all", rest))
	}
	for i, line := range lines {
		if i == 0 {
			line = "reasoning: " + line
		}
		if !t.Reasoning {
			line = shorten.Head(line, maxReasoningLine)
		}
		fmt.Fprintln(t.out, terminal.Faint.Render("  │ "+line))
	}
}

// maxReasoningLine is the longest line of a reasoning that is not printed in full, in characters.
const maxReasoningLine = 160
