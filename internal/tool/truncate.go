// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// ReadResult is the name of the built-in tool that pages through a truncated output.
const ReadResult = "read_result"

// Truncate truncates text to at most limit bytes. It keeps the head and the tail (where programs report how they
// ended), with a marker between them that explains how to read the rest. If the limit is too small for the marker, only
// the head is kept. No rune is split.
func Truncate(text string, limit int, callID string) (cut string, truncated bool) {
	if len(text) <= limit {
		return text, false
	}
	// The marker's length depends on its numbers; the largest ones bound it.
	room := limit - len(marker(len(text), len(text), callID))
	if room <= 0 {
		return shorten.HeadBytes(text, limit), true
	}
	head, tail := shorten.HeadBytes(text, room-room/3), shorten.TailBytes(text, room/3)
	return head + marker(len(head), len(text)-len(head)-len(tail), callID) + tail, true
}

func marker(offset, omitted int, callID string) string {
	return fmt.Sprintf("\n[... %d bytes left out here. To read them: %s with call_id %q and offset %d ...]\n",
		omitted, ReadResult, callID, offset)
}

// sanitizeText replaces bytes that model protocols and databases reject in text: invalid UTF-8 and NUL.
func sanitizeText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
