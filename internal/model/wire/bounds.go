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
	MaxText      = 1 << 20
	MaxToolCalls = 128

	MaxCallName = 256
	MaxCallID   = 64 << 10

	maxEvent     = 2 << 20
	maxJSONBytes = 4 << 20
)

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
