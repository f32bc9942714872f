// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"strings"
	"sync"
)

// clippedBuffer keeps the beginning and the end of its input, which are more informative than the middle.
type clippedBuffer struct {
	mu      sync.Mutex
	head    []byte
	maxHead int
	tail    []byte // a ring once it is full
	maxTail int
	next    int // where the ring continues
	dropped int64
}

func newClippedBuffer(head, tail int) *clippedBuffer {
	return &clippedBuffer{maxHead: head, maxTail: tail}
}

// Write never fails, so that the command never blocks on its output.
func (b *clippedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(p)
	if room := b.maxHead - len(b.head); room > 0 {
		take := min(room, len(p))
		b.head = append(b.head, p[:take]...)
		p = p[take:]
	}
	b.keepTail(p)
	return n, nil
}

func (b *clippedBuffer) keepTail(p []byte) {
	if excess := len(p) - b.maxTail; excess > 0 {
		b.dropped += int64(excess)
		p = p[excess:]
	}
	if room := b.maxTail - len(b.tail); room > 0 {
		take := min(room, len(p))
		b.tail = append(b.tail, p[:take]...)
		p = p[take:]
	}
	b.dropped += int64(len(p))
	for len(p) > 0 {
		n := copy(b.tail[b.next:], p)
		b.next = (b.next + n) % len(b.tail)
		p = p[n:]
	}
}

// String returns the text, with a marker where bytes are missing.
func (b *clippedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	tail := string(b.tail[b.next:]) + string(b.tail[:b.next])
	text := string(b.head) + tail
	if b.dropped > 0 {
		text = fmt.Sprintf("%s\n[... %d bytes of output left out ...]\n%s", b.head, b.dropped, tail)
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
