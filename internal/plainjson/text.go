// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package plainjson

import "unicode/utf8"

// AppendString appends the JSON form of text, identical to Marshal's. It processes eight bytes at a time, because
// most texts are long and plain.
func AppendString(b []byte, text string) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(text); {
		for i+8 <= len(text) && isPlain(loadWord(text[i:i+8])) {
			i += 8
		}
		for end := min(i+8, len(text)); i < end; {
			c := text[i]
			switch {
			case c >= utf8.RuneSelf:
				r, size := utf8.DecodeRuneInString(text[i:])
				if form := escapedRune(r, size); form != "" {
					b = append(append(b, text[done:i]...), form...)
					done = i + size
				}
				i += size
				continue
			case c < ' ' || c == '"' || c == '\\':
				b = appendEscaped(append(b, text[done:i]...), c)
				done = i + 1
			}
			i++
		}
	}
	return append(append(b, text[done:]...), '"')
}

// loadWord reads eight bytes; the compiler turns it into one load.
func loadWord(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// isPlain reports whether none of eight bytes needs an escape or is part of a multi-byte character. A byte is zero
// where subtracting one borrows into a high bit that it does not have itself.
func isPlain(w uint64) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, backslash := w^(ones*'"'), w^(ones*'\\')
	return (w|(w-ones*' ')|(quote-ones)&^quote|(backslash-ones)&^backslash)&highs == 0
}

// escapedRune returns the escape of a non-ASCII character if it needs one: invalid UTF-8, and JavaScript's line
// separators.
func escapedRune(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return `\ufffd`
	case r == '\u2028':
		return `\u2028`
	case r == '\u2029':
		return `\u2029`
	}
	return ""
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
