// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/shorten"
)

const (
	tabWidth     = 4
	pictures     = '\u2400' // ␀, the picture of the first control character; the others follow in order
	pictureOfDel = '\u2421'
)

// Clean returns text without anything that a terminal interprets. Line breaks stay and tabs become spaces. Control
// characters become pictures such as ␛ and are not dropped: a person who approves a command must see all of it.
func Clean(text string) string {
	if isPlain(text) {
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var out strings.Builder
	out.Grow(len(text))
	for _, r := range text {
		switch r {
		case '\n':
			out.WriteByte('\n')
		case '\t':
			out.WriteString(strings.Repeat(" ", tabWidth))
		default:
			out.WriteRune(visibleRune(r))
		}
	}
	return out.String()
}

// Exact returns text with every character visible: like Clean, but invisible and space-like characters become escapes
// such as \u200b, and nothing is left out. It is for texts that a person approves.
func Exact(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	for _, r := range text {
		switch {
		case r == '\n', unicode.IsPrint(r):
			out.WriteRune(r)
		case r == '\t':
			out.WriteString(strings.Repeat(" ", tabWidth))
		case r < ' ', r == 0x7f:
			out.WriteRune(visibleRune(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// Line returns text as one clean line: line breaks and runs of spaces become one space.
func Line(text string) string {
	return shorten.Line(Clean(text))
}

// isPlain reports whether text needs no cleaning, which is the usual case.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c != '\n' && (c < ' ' || c >= 0x7f) {
			return false
		}
	}
	return true
}

func visibleRune(r rune) rune {
	switch {
	case r < ' ':
		return pictures + r
	case r == 0x7f:
		return pictureOfDel
	case unicode.IsControl(r), isBidiControl(r), r == '\u2028', r == '\u2029':
		return utf8.RuneError
	}
	return r
}

// isBidiControl reports whether a character changes the display order of others (Unicode's Bidi_Control), so that text
// reads differently from what it is.
func isBidiControl(r rune) bool {
	return r == '\u061c' || r == '\u200e' || r == '\u200f' || (r >= '\u202a' && r <= '\u202e') || (r >= '\u2066' && r <= '\u2069')
}
