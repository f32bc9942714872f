// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shorten

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestUntrustedLine(t *testing.T) {
	for text, want := range map[string]string{
		"no such model":                                  "no such model",
		"  two\n\tlines\r\n":                             "two lines",
		"<html><body><h1>Secret</h1></body>":             "Secret",
		"a <script>alert(1)</script> b":                  "a alert(1) b",
		"<img src=x onerror=":                            "",
		"1 < 2 and 3 > 2":                                "1 < 2 and 3 > 2",
		"red \x1b[31mtext\x1b[0m":                        "red [31mtext [0m",
		"user\u202egnp.exe\u200b":                        "usergnp.exe",
		"bad \xff byte":                                  "bad \uFFFD byte",
		"nul\x00byte":                                    "nul byte",
		strings.Repeat("é", 50):                          strings.Repeat("é", 39) + "…",
		strings.Repeat("a", 39) + strings.Repeat(" ", 9): strings.Repeat("a", 39),
	} {
		if got := UntrustedLine(text, 40); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A space may be the character at which a line is cut.
func TestUntrustedLineNeverExceedsLimit(t *testing.T) {
	const limit = 40
	for at := range 2 * limit {
		got := UntrustedLine(strings.Repeat("a", at)+" "+strings.Repeat("b", limit), limit)
		if n := utf8.RuneCountInString(got); n > limit || !strings.HasSuffix(got, "…") || strings.HasSuffix(got, " …") {
			t.Errorf("a space after %d letters: %d characters, %q", at, n, got)
		}
	}
}

func FuzzUntrustedLine(f *testing.F) {
	f.Add("<a", 3)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = limit&1023 + 2
		got := UntrustedLine(text, limit)
		if utf8.RuneCountInString(got) > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x1b\x00\u202e") {
			t.Errorf("UntrustedLine(%q, %d) = %q", text, limit, got)
		}
	})
}
