// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package plainjson

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAppendStringMatchesMarshal mixes plain stretches of all lengths with characters that need an escape, and with
// invalid bytes.
func TestAppendStringMatchesMarshal(t *testing.T) {
	odd := []string{`"`, `\`, "\n", "\r", "\t", "\b", "\f", "\x00", "\x1f", "\x7f", "\x80", "\xff", "\xe2\x80", "\u2028", "\u2029", "\ufffd", "é", "世", "😀", "<&>", " ", "~", "!", "#", "[", "]"}
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(0, 12).Draw(t, "parts") {
			text.WriteString(strings.Repeat("a", rapid.IntRange(0, 17).Draw(t, "plain")))
			text.WriteString(rapid.SampledFrom(odd).Draw(t, "odd"))
		}
		text.Write(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes"))
		want, err := Marshal(text.String())
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendString([]byte("before "), text.String()); string(got) != "before "+string(want) {
			t.Fatalf("%q became\n%s, want\n%s", text.String(), got, want)
		}
	})
}

func BenchmarkAppendString(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, line after line.\n", 100)
	b.SetBytes(int64(len(text)))
	var out []byte
	for b.Loop() {
		out = AppendString(out[:0], text)
	}
}
