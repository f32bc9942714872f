// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"strings"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// maxLine is the maximum number of bytes of a line in results; minified files have lines of megabytes.
const maxLine = 500

// withContext returns matching lines with their context, each line once.
func withContext(data []byte, spans []span, before, after int) []Line {
	lines := make([]Line, 0, len(spans)*(1+before+after))
	last := 0 // number of the last line that was added
	for i, match := range spans {
		lines = append(lines, linesBefore(data, match, min(before, match.number-last-1))...)
		lines = append(lines, Line{Number: match.number, Text: displayLine(data[match.start:match.end]), Match: true})
		last = match.number
		room := after
		if i+1 < len(spans) {
			room = min(after, spans[i+1].number-match.number-1)
		}
		following := linesAfter(data, match, room)
		lines = append(lines, following...)
		last += len(following)
	}
	return lines
}

func linesBefore(data []byte, match span, n int) []Line {
	lines := make([]Line, max(n, 0))
	start := match.start
	for i := len(lines) - 1; i >= 0; i-- {
		end := start - 1 // the line break
		start = bytes.LastIndexByte(data[:end], '\n') + 1
		lines[i] = Line{Number: match.number - (len(lines) - i), Text: displayLine(data[start:end])}
	}
	return lines
}

func linesAfter(data []byte, match span, n int) []Line {
	var lines []Line
	for start := match.end + 1; len(lines) < n && start < len(data); {
		end := indexByteFrom(data, '\n', start)
		lines = append(lines, Line{Number: match.number + len(lines) + 1, Text: displayLine(data[start:end])})
		start = end + 1
	}
	return lines
}

// displayLine returns a line for display: valid UTF-8, without a carriage return, of limited length.
func displayLine(line []byte) string {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	text := strings.ToValidUTF8(shorten.HeadBytes(string(line[:min(len(line), maxLine+1)]), maxLine), "\ufffd")
	if len(line) > maxLine {
		text += " [line cut]"
	}
	return text
}
