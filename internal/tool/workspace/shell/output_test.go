// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOutputKeepsHeadAndTail(t *testing.T) {
	b := newClippedBuffer(4, 3)
	for _, text := range []string{"ab", "cdef", "ghij", "k"} {
		if n, err := b.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("wrote %d: %v", n, err)
		}
	}
	if got, want := b.String(), "abcd\n[... 4 bytes of output left out ...]\nijk"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOutputIgnoresWriteSizes checks that the split into writes does not affect the result.
func TestOutputIgnoresWriteSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		head, tail := rapid.IntRange(0, 10).Draw(t, "head"), rapid.IntRange(0, 10).Draw(t, "tail")
		pieces := rapid.SliceOf(rapid.StringMatching(`[a-z]{0,15}`)).Draw(t, "pieces")
		b := newClippedBuffer(head, tail)
		for _, piece := range pieces {
			_, _ = b.Write([]byte(piece))
		}
		whole := strings.Join(pieces, "")
		got := b.String()
		if len(whole) <= head+tail {
			if got != whole {
				t.Fatalf("got %q, want %q", got, whole)
			}
			return
		}
		if !strings.HasPrefix(got, whole[:head]+"\n[... ") || !strings.HasSuffix(got, " ...]\n"+whole[len(whole)-tail:]) {
			t.Fatalf("got %q of %q", got, whole)
		}
	})
}
