// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
)

// blocks renders the blocks of a Markdown document. glamour would do the same, but executes templates: for these the linker keeps every
// method of every type, which makes kubectl-nestor larger by a third.
type blocks struct{ source []byte }

// children renders the blocks below a node, with an empty line between them if they are spaced.
func (b blocks) children(parent ast.Node, width int, spaced bool) (lines []string) {
	for node := parent.FirstChild(); node != nil; node = node.NextSibling() {
		if spaced && len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, b.block(node, width)...)
	}
	return lines
}

func (b blocks) block(node ast.Node, width int) []string {
	switch n := node.(type) {
	case *ast.Heading:
		return b.wrap(b.inline(n, Accent), width)
	case *ast.List:
		return b.list(n, width)
	case *ast.Blockquote:
		return Indent(b.children(n, max(1, width-2), true), "│ ")
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return b.code(n, width)
	case *ast.HTMLBlock:
		return b.wrap(strings.TrimRight(b.raw(n), "\n"), width)
	case *ast.ThematicBreak:
		return []string{Faint.Render("────────")}
	case *extension.Table:
		return b.table(n, width)
	}
	return b.wrap(b.inline(node, lipgloss.NewStyle()), width)
}

// wrap ends the styles of a line with the line, and continues them in the next one.
func (blocks) wrap(text string, width int) []string {
	return strings.Split(lipgloss.Wrap(text, width, ""), "\n")
}

func (b blocks) raw(node ast.Node) string { return string(node.Lines().Value(b.source)) }

func (b blocks) code(node ast.Node, width int) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimRight(b.raw(node), "\n"), "\n") {
		for _, part := range Wrap(line, width-2) {
			lines = append(lines, "  "+Busy.Render(part))
		}
	}
	return lines
}

func (b blocks) list(list *ast.List, width int) (lines []string) {
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		marker := "• "
		if list.IsOrdered() {
			marker = strconv.Itoa(number) + ". "
			number++
		}
		if !list.IsTight && len(lines) > 0 {
			lines = append(lines, "")
		}
		indent := strings.Repeat(" ", Width(marker))
		for i, line := range b.children(item, max(1, width-len(indent)), !list.IsTight) {
			if i == 0 {
				lines = append(lines, marker+line)
			} else {
				lines = append(lines, indent+line)
			}
		}
	}
	return lines
}

func (b blocks) table(node *extension.Table, width int) []string {
	rendered := table.New().Wrap(true).BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false)
	natural := 0
	for row := node.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		columns := 0
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, b.inline(cell, lipgloss.NewStyle()))
			columns += Width(cells[len(cells)-1]) + 1
		}
		natural = max(natural, columns)
		if _, header := row.(*extension.TableHeader); header {
			rendered.Headers(cells...)
		} else {
			rendered.Row(cells...)
		}
	}
	if natural > width {
		rendered.Width(width)
	}
	return strings.Split(rendered.String(), "\n")
}
