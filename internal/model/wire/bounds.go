// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"io"
)

// Bounds of a reply. They are far above the longest outputs of models; a reply is held in memory, in the ledger and
// in every later request.
const (
	MaxText = 1 << 20

	maxToolCalls = 128
	maxCallName  = 256
	maxCallID    = 64 << 10

	maxEvent     = 2 << 20
	maxJSONBytes = 4 << 20
)

// CheckSize checks the number of bytes of the text and the tool calls of a reply.
func CheckSize(bytes int) error {
	if bytes > MaxText {
		return Oversized(fmt.Sprintf("the provider's reply has more than %d MiB of text and tool calls", MaxText>>20))
	}
	return nil
}

// CheckCall checks the tool call at an index of a reply.
func CheckCall(index int, id, name string) error {
	switch {
	case index >= maxToolCalls:
		return Oversized(fmt.Sprintf("the provider's reply has more than %d tool calls", maxToolCalls))
	case len(name) > maxCallName || len(id) > maxCallID:
		return Oversized("the provider's reply calls a tool by a name or an id that is too long")
	}
	return nil
}

// eventReader fails if an event of a stream is too long, because the decoder holds an event in memory until an empty
// line ends it.
type eventReader struct {
	io.Reader

	event, line int // bytes of the event and of the line that are being read
}

func (r *eventReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	for _, b := range p[:n] {
		switch b {
		case '\n':
			if r.line == 0 {
				r.event = 0
			}
			r.line = 0
		case '\r':
		default:
			r.line++
			r.event++
		}
	}
	if r.event > maxEvent {
		return 0, Oversized(fmt.Sprintf("the provider sent an event that is larger than %d MiB", maxEvent>>20))
	}
	return n, err
}
