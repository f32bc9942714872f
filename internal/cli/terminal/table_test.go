// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestNarrowTablesOmitColumns(t *testing.T) {
	table := Table{
		Heading: []string{"NAME", "ITERATIONS", "COST", "NOTE"},
		Rows:    [][]string{{"a-name-of-20-columns", "12", "-", "asks: Who can reach the port of the till?"}, {"b", "1", "-", ""}},
	}
	for _, c := range []struct {
		width int
		want  []string
	}{
		{0, []string{"NAME", "ITERATIONS", "COST", "NOTE"}},
		{120, []string{"NAME", "ITERATIONS", "COST", "NOTE"}},
		{59, []string{"NAME", "ITERATIONS", "COST", "NOTE"}},
		{50, []string{"NAME", "COST", "NOTE"}},
		{45, []string{"NAME", "NOTE"}},
	} {
		fitted := table.FitLast(c.width, "ITERATIONS", "COST")
		if !slices.Equal(fitted.Heading, c.want) {
			t.Errorf("%d columns: %v, want %v", c.width, fitted.Heading, c.want)
		}
		var out bytes.Buffer
		fitted.Print(&out)
		for line := range strings.SplitSeq(out.String(), "\n") {
			if c.width > 0 && Width(line) > c.width {
				t.Errorf("%d columns: %q is wider", c.width, line)
			}
		}
	}
	table.Rows[0][3] = ""
	if fitted := table.FitLast(46, "ITERATIONS", "COST"); !slices.Equal(fitted.Heading, []string{"NAME", "COST", "NOTE"}) {
		t.Errorf("without notes: %v", fitted.Heading)
	}
}
