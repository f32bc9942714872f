// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"html"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// inline renders the text below a node. Every piece of text has its whole style, because the end of a nested style ends all.
func (b blocks) inline(parent ast.Node, style lipgloss.Style) string {
	var out strings.Builder
	for node := parent.FirstChild(); node != nil; node = node.NextSibling() {
		out.WriteString(b.piece(node, style))
	}
	return out.String()
}

func (b blocks) piece(node ast.Node, style lipgloss.Style) string {
	switch n := node.(type) {
	case *ast.Text:
		shown := styled(unescape(n.Value(b.source)), style)
		if n.SoftLineBreak() || n.HardLineBreak() {
			shown += "\n"
		}
		return shown
	case *ast.String:
		return styled(unescape(n.Value), style)
	case *ast.CodeSpan:
		return b.codeSpan(n, style)
	case *ast.Emphasis:
		if n.Level > 1 {
			return b.inline(n, style.Bold(true))
		}
		return b.inline(n, style.Italic(true))
	case *extension.Strikethrough:
		return b.inline(n, style.Strikethrough(true))
	case *ast.Link:
		return b.link(n, n.Destination, style)
	case *ast.Image:
		return b.link(n, n.Destination, style)
	case *ast.AutoLink:
		return styled(string(n.URL(b.source)), style.Underline(true))
	case *ast.RawHTML:
		return styled(string(n.Segments.Value(b.source)), style)
	case *extension.TaskCheckBox:
		if n.IsChecked {
			return "[✓] "
		}
		return "[ ] "
	}
	return b.inline(node, style)
}

func (b blocks) codeSpan(span *ast.CodeSpan, style lipgloss.Style) string {
	var code strings.Builder
	for node := span.FirstChild(); node != nil; node = node.NextSibling() {
		if text, ok := node.(*ast.Text); ok {
			code.Write(text.Value(b.source))
		}
	}
	return styled(strings.ReplaceAll(code.String(), "\n", " "), style.Foreground(lipgloss.Cyan))
}

// link renders the text of a link or an image, and its address unless that is the text.
func (b blocks) link(node ast.Node, address []byte, style lipgloss.Style) string {
	shown, target := b.inline(node, style.Bold(true)), unescape(address)
	underlined := styled(target, style.Underline(true))
	switch {
	case ansi.Strip(shown) == target, shown == "":
		return underlined
	case target == "":
		return shown
	}
	return shown + " " + underlined
}

// unescape resolves backslashes and character references.
func unescape(text []byte) string {
	return Clean(html.UnescapeString(string(util.UnescapePunctuations(text))))
}

// styled renders the lines of text one by one: Style.Render would pad them to one width.
func styled(text string, style lipgloss.Style) string {
	lines := strings.Split(Clean(text), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = style.Render(line)
		}
	}
	return strings.Join(lines, "\n")
}
