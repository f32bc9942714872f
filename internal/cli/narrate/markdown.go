// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

// MarkdownPrinter writes a transcript as a Markdown document, entry by entry: a heading for each entry, texts as they are, and the
// arguments and results of calls as code.
type MarkdownPrinter struct {
	// Prompts also writes system prompts.
	Prompts bool
	// Reasoning also writes the reasoning of models.
	Reasoning bool

	out   io.Writer
	known calls
}

// NewMarkdownPrinter returns a MarkdownPrinter that writes to out, and writes the title.
func NewMarkdownPrinter(out io.Writer, title string) *MarkdownPrinter {
	fmt.Fprintf(out, "# %s\n", terminal.Line(title))
	return &MarkdownPrinter{out: out, known: calls{}}
}

func (p *MarkdownPrinter) Print(e historyv1.Entry) {
	if e.Kind == historyv1.EntryDelta {
		return
	}
	at := ""
	if !e.Time.IsZero() {
		at = " · " + e.Time.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	fmt.Fprintf(p.out, "\n## %s\n\n<sub>#%d%s</sub>\n", escapeHeading(p.known.label(e)), e.Seq, at)
	if p.Prompts && e.SystemPrompt != "" {
		p.folded("System prompt", e.SystemPrompt)
	}
	if p.Reasoning && e.Reasoning != "" {
		p.folded("Reasoning", e.Reasoning)
	}
	p.text(e.Kind, e.Content)
	for _, image := range e.Images {
		fmt.Fprintf(p.out, "\n%s\n", attachedLine(image.Name, image.MediaType, image.Size))
	}
	p.calls(e)
	for _, child := range e.Children {
		fmt.Fprintf(p.out, "\n- starts `%s` (%s): %s\n", terminal.Line(child.Name), terminal.Line(cmp.Or(child.Role, child.Tool)), terminal.Line(child.Instruction))
	}
	if e.Error != "" {
		fmt.Fprintf(p.out, "\n**Error:** %s\n", terminal.Line(e.Error))
	}
	if e.Truncated {
		fmt.Fprint(p.out, "\n*The reply reached the limit of output tokens and is truncated.*\n")
	}
	p.outcome(e.Outcome)
}

// text writes the content of an entry. The output of a tool is code; what people and models write is Markdown already.
func (p *MarkdownPrinter) text(kind historyv1.EntryKind, content string) {
	content = strings.Trim(terminal.Clean(content), "\n")
	switch {
	case content == "":
	case kind == historyv1.EntryToolResult:
		p.code("", content)
	default:
		fmt.Fprintf(p.out, "\n%s\n", content)
	}
}

func (p *MarkdownPrinter) calls(e historyv1.Entry) {
	for _, call := range e.ToolCalls {
		if call.Arguments == "" && call.Result == "" {
			continue // an earlier entry has the call
		}
		fmt.Fprintf(p.out, "\n**`%s`** %s\n", terminal.Line(call.Tool), strings.ToLower(string(call.Phase)))
		if call.Arguments != "" {
			p.code("json", terminal.JSON(call.Arguments))
		}
		if call.Result != "" {
			p.code("", call.Result)
		}
	}
}

func (p *MarkdownPrinter) outcome(o *historyv1.Outcome) {
	if o == nil {
		return
	}
	if o.ErrorKind != "" {
		fmt.Fprintf(p.out, "\n**Ended: %s:** %s\n", terminal.Line(o.ErrorKind), terminal.Line(o.Error))
	} else {
		fmt.Fprintf(p.out, "\n**Done:** %s\n", terminal.Line(o.Summary))
	}
	for _, part := range []string{o.Result, o.Details} {
		if part != "" && part != o.Summary {
			fmt.Fprintf(p.out, "\n%s\n", strings.Trim(terminal.Clean(part), "\n"))
		}
	}
	if o.Data != nil {
		p.code("json", terminal.JSON(o.Data.Raw))
	}
}

// code writes a fenced block. The fence is longer than any in the text.
func (p *MarkdownPrinter) code(language, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(p.out, "\n%s%s\n%s\n%s\n", fence, language, strings.Trim(terminal.Clean(text), "\n"), fence)
}

// folded writes text that readers open.
func (p *MarkdownPrinter) folded(summary, text string) {
	fmt.Fprintf(p.out, "\n<details><summary>%s</summary>\n", summary)
	p.code("", text)
	fmt.Fprint(p.out, "\n</details>\n")
}

// escapeHeading escapes what would format a heading.
func escapeHeading(text string) string {
	return strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "<", "&lt;", "[", "\\[", "#", "\\#").Replace(text)
}
