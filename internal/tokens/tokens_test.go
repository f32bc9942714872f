// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"testing"

	"pgregory.net/rapid"
)

func TestEmptyTextIsZero(t *testing.T) {
	if got := Of(""); got != 0 {
		t.Errorf("got %d", got)
	}
}

// A history sums the estimates of its messages, so text that is split into messages must not cost less than the whole, and no
// text may be free.
func TestPartsCostAtLeastWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		whole, parts := Of(text), Of(text[:at])+Of(text[at:])
		// A split run of letters becomes two words; a run that alternates with digits may exceed that by half a token.
		if parts+1 < whole {
			t.Fatalf("%q costs %d, but %d in two parts", text, whole, parts)
		}
		if limit := 4*int64(len(text)) + 1; whole < 0 || whole > limit {
			t.Fatalf("%q costs %d, want 0 to %d", text, whole, limit)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	text := ""
	for range 64 {
		text += "func (c *counter) endRun(next class) { return fmt.Errorf(\"read %q: %w\", path, err) } // a comment of some words\n"
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Of(text)
	}
}
