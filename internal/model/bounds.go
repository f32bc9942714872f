// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"io"
)

// Bounds of a reply. They are far above the longest outputs of models; a reply is held in memory, in the ledger and
// in every later request.
const (
	maxText      = 1 << 20
	maxEvent     = 2 << 20
	maxToolCalls = 128
	maxCallName  = 256
	maxCallID    = 64 << 10
)

// size returns the number of bytes that a message adds to the reply.
func (m *wireMessage) size() int {
	n := len(m.Content) + len(m.ReasoningContent) + len(m.Reasoning) + len(m.Refusal)
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		n += len(c.ID) + len(c.Function.Name) + len(c.Function.Arguments)
	}
	return n
}

// eventReader fails if an event of a stream is too long, because the decoder holds an event in memory until an empty
// line ends it.
type eventReader struct {
	io.Reader

	event, line int // bytes of the event and of the line that are being read
}

// Read implements io.Reader.
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
		return 0, oversized(fmt.Sprintf("the provider sent an event that is larger than %d MiB", maxEvent>>20))
	}
	return n, err
}
