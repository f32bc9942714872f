// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package live distributes the deltas of replies, and notifies readers when an agent has advanced. It stores nothing;
// the ledger is the record.
package live

import (
	"sync"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

const (
	// maxDeltas bounds the buffered deltas of one reply. The live view of a longer one ends there.
	maxDeltas = 1 << 15
	// maxUnreadReplies bounds the number of buffered replies without readers.
	maxUnreadReplies = 1 << 10
)

// Hub distributes the engine's deltas to readers. The engine never waits for a reader: a hub buffers the deltas of
// the current reply once for all readers, and a slow reader gets several at a time. The zero value is ready to use.
type Hub struct {
	mu     sync.Mutex
	feeds  map[string]*feed
	source Source
}

// feed is the live state of one agent.
type feed struct {
	call      string
	deltas    []model.Delta
	truncated bool
	resets    int // how often the deltas were dropped
	readers   map[*Reader]struct{}
	stop      func() // ends the source's work; nil without a source
}

// OnDelta adds a delta of the reply to a model call. It implements controller.Observer.
func (h *Hub) OnDelta(uid, call string, delta model.Delta) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feed(uid)
	if f.call != call {
		f.reset(call)
	}
	if f.add(delta) {
		f.wake(false)
	}
}

// Changed notifies the readers of an agent that it has advanced: the streamed reply is in the ledger now, or void.
func (h *Hub) Changed(a ledger.Agent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, ok := h.feeds[a.UID]
	if !ok {
		return
	}
	f.reset("")
	f.wake(true)
	h.dropIfEmpty(a.UID)
}

// Follow returns a reader of an agent's live state. It must be closed.
func (h *Hub) Follow(uid string) *Reader {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &Reader{hub: h, uid: uid, updates: make(chan struct{}, 1)}
	f := h.feed(uid)
	f.readers[r] = struct{}{}
	if h.source != nil && f.stop == nil {
		f.stop = h.source(uid, &Sink{hub: h, uid: uid, feed: f})
	}
	if len(f.deltas) > 0 { // the next delta may take long
		r.updates <- struct{}{}
	}
	return r
}

func (h *Hub) Readers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	readers := 0
	for _, f := range h.feeds {
		readers += len(f.readers)
	}
	return readers
}

func (h *Hub) feed(uid string) *feed {
	f, ok := h.feeds[uid]
	if ok {
		return f
	}
	if h.feeds == nil {
		h.feeds = map[string]*feed{}
	}
	if len(h.feeds) >= maxUnreadReplies {
		// A reply that was cancelled late may have left deltas without a reader.
		for other := range h.feeds {
			h.drop(other)
		}
	}
	f = &feed{readers: map[*Reader]struct{}{}}
	h.feeds[uid] = f
	return f
}

// dropIfEmpty drops a feed without deltas, or one that its source can supply again.
func (h *Hub) dropIfEmpty(uid string) {
	if f := h.feeds[uid]; f != nil && (f.call == "" || f.stop != nil) {
		h.drop(uid)
	}
}

func (h *Hub) drop(uid string) {
	f := h.feeds[uid]
	if len(f.readers) > 0 {
		return
	}
	delete(h.feeds, uid)
	if f.stop != nil {
		f.stop()
	}
}

func (f *feed) reset(call string) {
	f.call, f.deltas, f.truncated = call, nil, false
	f.resets++
}

// add reports whether there was room for a delta.
func (f *feed) add(delta model.Delta) bool {
	if len(f.deltas) == maxDeltas {
		f.truncated = true
		return false
	}
	f.deltas = append(f.deltas, delta)
	return true
}

func (f *feed) wake(changed bool) {
	for r := range f.readers {
		r.changed = r.changed || changed
		select {
		case r.updates <- struct{}{}:
		default: // already notified
		}
	}
}
