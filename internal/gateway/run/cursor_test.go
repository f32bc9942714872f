// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestCursorText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Cursor{Seq: rapid.Int64Range(0, math.MaxInt64).Draw(t, "seq"), Offset: rapid.IntRange(0, math.MaxInt).Draw(t, "offset")}
		got, err := ParseCursor(want.String())
		if err != nil || got != want {
			t.Fatalf("%s: %v, %v", want, got, err)
		}
	})
}

func TestParseCursorRejects(t *testing.T) {
	for _, text := range []string{"", ".", "1", "1.", ".1", "-1.0", "1.-1", "1.2.3", "a.1", "1.b", " 1.1", "9223372036854775808.0"} {
		if got, err := ParseCursor(text); err == nil || got != (Cursor{}) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
