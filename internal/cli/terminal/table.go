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

func (t Table) Without(column int) Table {
	out := Table{Heading: slices.Delete(slices.Clone(t.Heading), column, column+1)}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, slices.Delete(slices.Clone(row), column, column+1))
	}
	return out
}

// minLast is the least width of a last column that FitLast shortens.
const minLast = 16

// FitLast returns the table with the last column shortened, so that rows are at most width columns wide. 0 is no limit. If that
// leaves too little of the last column, the optional columns are omitted, the first of them first.
func (t Table) FitLast(width int, optional ...string) Table {
	if width <= 0 || len(t.Heading) == 0 {
		return t
	}
	for _, heading := range optional {
		if t.room(width) >= min(minLast, t.widest(len(t.Heading)-1)) {
			break
		}
		if column := slices.Index(t.Heading, heading); column >= 0 {
			t = t.Without(column)
		}
	}
	last, room := len(t.Heading)-1, max(minLast, t.room(width))
	out := Table{Heading: t.Heading}
	for _, row := range t.Rows {
		row = slices.Clone(row)
		row[last] = Fit(row[last], room)
		out.Rows = append(out.Rows, row)
	}
	return out
}

// room returns how many of width columns the last column of the table may use.
func (t Table) room(width int) int {
	for i := range len(t.Heading) - 1 {
		width -= t.widest(i) + gap
	}
	return width
}

func (t Table) widest(column int) int {
	widest := Width(t.Heading[column])
	for _, row := range t.Rows {
		widest = max(widest, Width(row[column]))
	}
	return widest
}

// gap is the number of spaces between columns.
const gap = 3

// Print writes the table, without trailing spaces.
func (t Table) Print(out io.Writer) {
	widths := make([]int, len(t.Heading))
	for i := range widths {
		widths[i] = t.widest(i)
	}
	for _, row := range append([][]string{t.Heading}, t.Rows...) {
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
