// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Table is a table with columns as wide as their content. Cells may be coloured; they must be clean.
type Table struct {
	Heading []string
	Rows    [][]string
}

// Without returns the table without a column.
func (t Table) Without(column int) Table {
	out := Table{Heading: slices.Delete(slices.Clone(t.Heading), column, column+1)}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, slices.Delete(slices.Clone(row), column, column+1))
	}
	return out
}

// minLast is the least width of a last column that FitLast shortens.
const minLast = 16

// FitLast returns the table with the last column shortened, so that rows are at most width columns wide. 0 is no limit.
func (t Table) FitLast(width int) Table {
	if width <= 0 || len(t.Heading) == 0 {
		return t
	}
	last, others := len(t.Heading)-1, 0
	for i := range last {
		widest := Width(t.Heading[i])
		for _, row := range t.Rows {
			widest = max(widest, Width(row[i]))
		}
		others += widest + gap
	}
	out := Table{Heading: t.Heading}
	for _, row := range t.Rows {
		row = slices.Clone(row)
		row[last] = Fit(row[last], max(minLast, width-others))
		out.Rows = append(out.Rows, row)
	}
	return out
}

// gap is the number of spaces between columns.
const gap = 3

// Print writes the table, without trailing spaces.
func (t Table) Print(out io.Writer) {
	widths := make([]int, len(t.Heading))
	rows := append([][]string{t.Heading}, t.Rows...)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], Width(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		blank := 0
		for i, cell := range row {
			if Width(cell) > 0 {
				line.WriteString(strings.Repeat(" ", blank) + cell)
				blank = 0
			}
			blank += widths[i] - Width(cell) + gap
		}
		fmt.Fprintln(out, line.String())
	}
}
