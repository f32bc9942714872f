// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ReadResult is the name of the built-in tool that pages through a truncated output.
const ReadResult = "read_result"

// Cut truncates text to at most limit bytes. It keeps the head and the tail (where programs report how they ended),
// with a marker between them that tells the model how to read the rest. If the limit is too small for the marker,
// only the head is kept. No rune is split.
func Cut(text string, limit int, callID string) (cut string, truncated bool) {
	if len(text) <= limit {
		return text, false
	}
	// The marker's length depends on its numbers; the largest ones bound it.
	room := limit - len(marker(len(text), len(text), callID))
	if room <= 0 {
		return text[:runeStart(text, max(limit, 0))], true
	}
	head := runeStart(text, room-room/3)
	tail := runeEnd(text, len(text)-room/3)
	return text[:head] + marker(head, tail-head, callID) + text[tail:], true
}

// Page returns the part of text that begins at byte offset and has at most limit
// bytes, widened to whole runes at its start, and the offset of what follows,
// which is len(text) at the end. The limit must have room for a rune.
func Page(text string, offset, limit int) (page string, next int) {
	start := runeStart(text, min(max(offset, 0), len(text)))
	end := runeStart(text, min(start+limit, len(text)))
	return text[start:end], end
}

func marker(offset, omitted int, callID string) string {
	return fmt.Sprintf("\n[... %d bytes left out here. To read them: %s with call_id %q and offset %d ...]\n",
		omitted, ReadResult, callID, offset)
}

// runeStart returns the start of the rune that contains position i of text.
func runeStart(text string, i int) int {
	for i > 0 && i < len(text) && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// runeEnd returns the end of the rune that contains position i of text, or i if
// a rune starts there.
func runeEnd(text string, i int) int {
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	return i
}

// storable replaces bytes that model protocols and databases reject in text: invalid UTF-8 and NUL.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
