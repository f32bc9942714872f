// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shorten

import (
	"regexp"
	"strings"
	"unicode"
)

// tag is an HTML tag, comment or declaration, including one that was cut off before its end.
var tag = regexp.MustCompile(`<[a-zA-Z/!?][^<>]*(?:>|$)`)

// UntrustedLine returns the beginning of text that another system sent, so that it can be shown to people: one line of
// at most limit characters, without HTML tags and without control and format characters, which could hide or reorder
// the text.
func UntrustedLine(text string, limit int) string {
	// A server may send megabytes: the text far beyond the limit is not read.
	if most := 16*limit + 1024; len(text) > most {
		text = text[:most]
	}
	text = tag.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), " ")
	var line strings.Builder
	length, space := 0, false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = length > 0
			continue
		case unicode.Is(unicode.Cf, r) || !unicode.IsGraphic(r):
			continue
		}
		if space && length < limit-1 {
			line.WriteByte(' ')
			length++
		}
		space = false
		if length >= limit-1 {
			return strings.TrimRight(line.String(), " ") + Ellipsis
		}
		line.WriteRune(r)
		length++
	}
	return line.String()
}
