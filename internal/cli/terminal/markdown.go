// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Renderer renders Markdown for one width.
type Renderer struct{ width int }

// NewRenderer returns a renderer for lines of at most width columns.
func NewRenderer(width int) *Renderer { return &Renderer{max(10, width)} }

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()

// numericEntity matches a character reference such as &#27;, which Markdown turns into the character.
var numericEntity = regexp.MustCompile(`&#(?:[xX][0-9a-fA-F]+|[0-9]+);?`)

// Markdown renders text as lines, with at most one blank line in a row. Its only escape sequences set styles.
func (r *Renderer) Markdown(source string) []string {
	source = numericEntity.ReplaceAllStringFunc(Clean(source), func(entity string) string { return Clean(html.UnescapeString(entity)) })
	b := blocks{[]byte(source)}
	rendered := b.children(markdown.Parse(text.NewReader(b.source)), r.width, true)
	var lines []string
	blank := true
	for line := range strings.SplitSeq(keepStyles(strings.Join(rendered, "\n")), "\n") {
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
