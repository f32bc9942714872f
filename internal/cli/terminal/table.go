// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"io"
	"strings"
)

// Table is a table with columns as wide as their content. Cells may be coloured; they must be clean.
type Table struct {
	Heading []string
	Rows    [][]string
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
