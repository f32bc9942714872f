// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package similar

import "testing"

func TestSimilarNamesAreSuggested(t *testing.T) {
	names := []string{"release", "release-notes", "researcher", "reviewer", "b"}
	for name, want := range map[string]string{
		"relase":    "; did you mean release?",
		"RELEASE":   "; did you mean release?",
		"rel":       "; did you mean release or release-notes?",
		"reseacher": "; did you mean researcher?",
		"reviever":  "; did you mean reviewer?",
		"erlease":   "; did you mean release?",
		"nothing":   "",
		"a":         "",
		"":          "",
	} {
		if got := DidYouMean(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"abc", "abc", 0}, {"frist", "first", 1}, {"ab", "ba", 1}, {"abcd", "badc", 2}} {
		if got := editDistance(c.a, c.b); got != c.want || editDistance(c.b, c.a) != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
