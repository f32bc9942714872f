// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"regexp"
	"strings"
	"unicode"
)

// tag is an HTML tag, comment or declaration, also one that a cut left open.
var tag = regexp.MustCompile(`<[a-zA-Z/!?][^<>]*(?:>|$)`)

// Line makes text of an endpoint fit to be shown to people: one line of at most limit characters, without HTML tags and without control
// and format characters, which could hide or reorder what is shown.
func Line(text string, limit int) string {
	// What is far beyond the limit need not be looked at: a server may send megabytes.
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
		if space {
			line.WriteByte(' ')
			length++
			space = false
		}
		if length >= limit-1 {
			return line.String() + "…"
		}
		line.WriteRune(r)
		length++
	}
	return line.String()
}
