// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"fmt"
	"io"
	"strings"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

// Teller tells a transcript, entry by entry, with replies that stream in as they come.
type Teller struct {
	// Prompts says to tell system prompts too.
	Prompts bool

	out      io.Writer
	begun    bool   // something has been told
	call     string // the model call whose reply streams in
	streamed string // what was told of it
	broken   bool   // pieces of it are missing or void
}

// NewTeller returns a teller that writes to out.
func NewTeller(out io.Writer) *Teller { return &Teller{out: out} }

// Tell tells an entry.
func (t *Teller) Tell(e historyv1.Entry) {
	if e.Kind == historyv1.EntryDelta {
		t.tellDelta(e)
		return
	}
	streaming, whole := t.streamed != "", t.streamed == e.Content && !t.broken
	t.streamed, t.broken = "", false
	if e.Kind == historyv1.EntryAssistant && streaming {
		t.endStream(e, whole)
	} else {
		if streaming {
			fmt.Fprintln(t.out)
		}
		t.head(e)
		t.text(e.Content)
	}
	for _, line := range detailLines(e, t.Prompts) {
		fmt.Fprintln(t.out, "  "+line)
	}
}

// tellDelta writes the next piece of a reply.
func (t *Teller) tellDelta(e historyv1.Entry) {
	if e.Delta == nil || e.Delta.Text == "" {
		return
	}
	if e.Delta.Lost || (t.streamed != "" && e.ModelCall != t.call) {
		t.broken = true // the call is made again, or the reply is too long
	}
	t.call = e.ModelCall
	if t.streamed == "" {
		t.head(historyv1.Entry{Kind: historyv1.EntryAssistant, Time: e.Time, Seq: e.Seq + 1})
		fmt.Fprint(t.out, "  ")
	}
	if t.broken {
		return // the whole comes with the reply
	}
	t.streamed += e.Delta.Text
	fmt.Fprint(t.out, strings.ReplaceAll(terminal.Clean(e.Delta.Text), "\n", "\n  "))
}

// endStream closes a reply that streamed in, and tells it again if pieces of it were missing.
func (t *Teller) endStream(e historyv1.Entry, whole bool) {
	fmt.Fprintln(t.out)
	if !whole {
		fmt.Fprintln(t.out, terminal.Faint.Render("  (once more, whole)"))
		t.text(e.Content)
	}
}

func (t *Teller) head(e historyv1.Entry) {
	if t.begun {
		fmt.Fprintln(t.out)
	}
	t.begun = true
	at := ""
	if !e.Time.IsZero() {
		at = " " + e.Time.Local().Format("15:04:05")
	}
	fmt.Fprintln(t.out, terminal.Accent.Render(title(e))+terminal.Faint.Render(fmt.Sprintf("  #%d%s", e.Seq, at)))
}

func (t *Teller) text(content string) {
	content = strings.TrimRight(terminal.Clean(content), "\n")
	if content == "" {
		return
	}
	for line := range strings.SplitSeq(content, "\n") {
		fmt.Fprintln(t.out, "  "+line)
	}
}
