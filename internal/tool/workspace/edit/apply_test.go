// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package edit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/tool/workspace/edit"
)

func TestEditsApplyInOrder(t *testing.T) {
	got, changes, err := edit.Apply("one\ntwo\nthree\n", []edit.Edit{
		{Old: "two", New: "2\n2"},
		{Old: "2\n2\nthree", New: "rest"},
		{Old: "e", New: "E", All: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got != "onE\nrEst\n" {
		t.Errorf("got %q", got)
	}
	want := []edit.Change{
		{Lines: []int{2}, Removed: 1, Added: 2},
		{Lines: []int{2}, Removed: 3, Added: 1},
		{Lines: []int{1, 2}, Removed: 1, Added: 1},
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestFailedEditsExplainWhy(t *testing.T) {
	const text = "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n"
	for name, c := range map[string]struct {
		edit edit.Edit
		want []string
	}{
		"absent":           {edit.Edit{Old: "nothing", New: "x"}, []string{"does not occur in the file", "without line numbers"}},
		"ambiguous":        {edit.Edit{Old: "return 1", New: "return 2"}, []string{"2 times, at lines 2, 6", "replace_all"}},
		"spaces for tabs":  {edit.Edit{Old: "func b() {\n    return 1\n}", New: "x"}, []string{"line 5", "white space"}},
		"wrong second":     {edit.Edit{Old: "func b() {\n\treturn 2\n}", New: "x"}, []string{"first line is at line 5", "what follows differs"}},
		"no such instance": {edit.Edit{Old: "func a", New: "x", Occurrence: 2}, []string{"occurrence 2", "once, at line 1"}},
		"both choices":     {edit.Edit{Old: "return 1", New: "x", Occurrence: 2, All: true}, []string{"exclude each other"}},
		"negative":         {edit.Edit{Old: "return 1", New: "x", Occurrence: -1}, []string{"counts from 1"}},
		"white space only": {edit.Edit{Old: "\n\n\n\n", New: "x"}, []string{"does not occur"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := edit.Apply(text, []edit.Edit{c.edit})
			if err == nil {
				t.Fatalf("applied: %q", got)
			}
			for _, word := range c.want {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q is not in %q", word, err)
				}
			}
		})
	}
}

func TestLineEndsAreKept(t *testing.T) {
	for text, want := range map[string]string{
		"a\r\nb\r\n": "x\r\ny\r\n", // all CRLF: edits are converted
		"a\nb\n":     "x\ny\n",
	} {
		got, _, err := edit.Apply(text, []edit.Edit{{Old: "a\nb", New: "x\ny"}})
		if err != nil || got != want {
			t.Errorf("%q became %q, error %v", text, got, err)
		}
	}
	// Mixed line ends are left alone.
	if got, _, err := edit.Apply("a\r\nb\nc", []edit.Edit{{Old: "b\nc", New: "x\ny"}}); err != nil || got != "a\r\nx\ny" {
		t.Errorf("got %q, error %v", got, err)
	}
}

// FuzzApply checks that a rejected edit returns no text and an applied one replaces exactly the occurrences it
// reports.
func FuzzApply(f *testing.F) {
	f.Add("one\ntwo\n", "two", "2\n2", false, 0)
	f.Add("aaaa", "aa", "a", true, 0)
	f.Add("a\r\nb\r\n", "a\nb", "c\nd", false, 0)
	f.Add("x-x-x", "x", "", false, 2)
	f.Add("\xff\x00", "\xff", "é", false, 0)
	f.Fuzz(func(t *testing.T, text, old, replacement string, all bool, occurrence int) {
		got, changes, err := edit.Apply(text, []edit.Edit{{Old: old, New: replacement, All: all, Occurrence: occurrence}})
		if err != nil {
			if got != "" || changes != nil {
				t.Errorf("refused with %v, but returned %q", err, got)
			}
			return
		}
		if strings.Contains(text, "\r\n") {
			return // line ends may have been converted
		}
		n := len(changes[0].Lines)
		switch {
		case all:
			if want := strings.ReplaceAll(text, old, replacement); got != want || n != strings.Count(text, old) {
				t.Errorf("got %q with %d replacements, want %q", got, n, want)
			}
		case n != 1:
			t.Errorf("%d replacements", n)
		case len(got) != len(text)-len(old)+len(replacement):
			t.Errorf("length %d after %d", len(got), len(text))
		}
		for _, line := range changes[0].Lines {
			if line < 1 || line > 1+strings.Count(got, "\n") {
				t.Errorf("line %d of %q", line, got)
			}
		}
	})
}
