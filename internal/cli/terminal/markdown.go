// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"html"
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
)

// Renderer renders Markdown for one width.
type Renderer struct{ glamour *glamour.TermRenderer }

// NewRenderer returns a renderer for lines of at most width columns.
func NewRenderer(width int) (*Renderer, error) {
	g, err := glamour.NewTermRenderer(glamour.WithStyles(markdownStyle()), glamour.WithWordWrap(max(10, width)), glamour.WithPreservedNewLines())
	if err != nil {
		return nil, err
	}
	return &Renderer{g}, nil
}

// numericEntity matches a character reference such as &#27;, which Markdown turns into the character.
var numericEntity = regexp.MustCompile(`&#(?:[xX][0-9a-fA-F]+|[0-9]+);?`)

// Markdown renders text as lines, with at most one blank line in a row. Its only escape sequences set styles.
func (r *Renderer) Markdown(text string) []string {
	text = numericEntity.ReplaceAllStringFunc(Clean(text), func(entity string) string { return Clean(html.UnescapeString(entity)) })
	rendered, err := r.glamour.Render(text)
	if err != nil {
		return strings.Split(text, "\n") // unrendered
	}
	var lines []string
	blank := true
	for line := range strings.SplitSeq(keepStyles(rendered), "\n") {
		line = trimRight(line)
		empty := Width(line) == 0
		if !empty || !blank {
			lines = append(lines, line)
		}
		blank = empty
	}
	if blank && len(lines) > 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// sequence matches an escape sequence that sets a style, or any other control character.
var sequence = regexp.MustCompile("\x1b\\[[0-9;:]*m|[\x00-\x09\x0b-\x1f\x7f\u0080-\u009f]")

// keepStyles removes all control characters and sequences except styles, in case the renderer let some through.
func keepStyles(text string) string {
	return sequence.ReplaceAllStringFunc(text, func(s string) string {
		if len(s) > 1 && strings.HasSuffix(s, "m") {
			return s
		}
		return Clean(s)
	})
}

// trailing matches blank space and styles at the end of a line.
var trailing = regexp.MustCompile("(?: |\x1b\\[[0-9;:]*m)*$")

// trimRight removes the spaces with which the renderer pads a line.
func trimRight(line string) string {
	end := trailing.FindString(line)
	if !strings.Contains(end, " ") {
		return line
	}
	line = strings.TrimSuffix(line, end)
	if strings.Contains(end, "\x1b") {
		line += "\x1b[m"
	}
	return line
}

func markdownStyle() ansi.StyleConfig {
	yes, indent := true, uint(2)
	colour := func(c string) *string { return &c }
	bold := ansi.StylePrimitive{Bold: &yes}
	heading := ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Bold: &yes, Color: colour("4"), BlockSuffix: "\n"}}
	quote := "│ "
	return ansi.StyleConfig{
		Heading: heading, H1: heading, H2: heading, H3: heading, H4: heading, H5: heading, H6: heading,
		Strong: bold, Emph: ansi.StylePrimitive{Italic: &yes}, Strikethrough: ansi.StylePrimitive{CrossedOut: &yes},
		BlockQuote: ansi.StyleBlock{Indent: &[]uint{1}[0], IndentToken: &quote},
		List:       ansi.StyleList{LevelIndent: indent},
		Item:       ansi.StylePrimitive{BlockPrefix: "• "}, Enumeration: ansi.StylePrimitive{BlockPrefix: ". "},
		Task:           ansi.StyleTask{Ticked: "[✓] ", Unticked: "[ ] "},
		HorizontalRule: ansi.StylePrimitive{Faint: &yes, Format: "\n────────\n"},
		Link:           ansi.StylePrimitive{Underline: &yes}, LinkText: ansi.StylePrimitive{Bold: &yes},
		Image:     ansi.StylePrimitive{Underline: &yes},
		Code:      ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: colour("6")}},
		CodeBlock: ansi.StyleCodeBlock{StyleBlock: ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: colour("6")}, Indent: &indent}},
		Table:     ansi.StyleTable{},
	}
}
