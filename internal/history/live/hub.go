// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package live hands on what happens while it happens: the pieces of replies, and that an agent has moved on. Nothing of it is
// a record; the ledger is.
package live

import (
	"sync"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

const (
	// maxPieces bounds what is kept of one reply. The live view of a longer one ends there.
	maxPieces = 1 << 15
	// maxReplies bounds how many replies are kept that nobody reads.
	maxReplies = 1 << 10
)

// Hub tells readers what the engine does. The engine never waits for a reader: a hub keeps the pieces of the reply that is
// streaming in, once for all readers, and a reader that is slow finds more of them when it comes. The zero value is ready.
type Hub struct {
	mu    sync.Mutex
	feeds map[string]*feed
}

// feed is what is live of one agent.
type feed struct {
	call    string
	pieces  []model.Delta
	lost    bool
	readers map[*Reader]struct{}
}

// Listen takes a piece of the reply to a model call. It is the engine's Options.Listen.
func (h *Hub) Listen(uid, call string, piece model.Delta) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feed(uid)
	if f.call != call {
		f.call, f.pieces, f.lost = call, nil, false
	}
	if len(f.pieces) == maxPieces {
		f.lost = true
		return
	}
	f.pieces = append(f.pieces, piece)
	f.wake(false)
}

// Changed says that an agent has moved on: what was streaming in is in the ledger now, or void.
func (h *Hub) Changed(a ledger.Agent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, ok := h.feeds[a.UID]
	if !ok {
		return
	}
	f.call, f.pieces, f.lost = "", nil, false
	f.wake(true)
	h.tidy(a.UID)
}

// Follow reads what is live of an agent until Close.
func (h *Hub) Follow(uid string) *Reader {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &Reader{hub: h, uid: uid, woken: make(chan struct{}, 1)}
	h.feed(uid).readers[r] = struct{}{}
	return r
}

func (h *Hub) feed(uid string) *feed {
	f, ok := h.feeds[uid]
	if ok {
		return f
	}
	if h.feeds == nil {
		h.feeds = map[string]*feed{}
	}
	if len(h.feeds) >= maxReplies {
		// A reply that was cancelled in the last moment may have left pieces that nobody calls for.
		for other := range h.feeds {
			h.drop(other)
		}
	}
	f = &feed{readers: map[*Reader]struct{}{}}
	h.feeds[uid] = f
	return f
}

// tidy drops a feed that holds nothing.
func (h *Hub) tidy(uid string) {
	if f := h.feeds[uid]; f != nil && f.call == "" {
		h.drop(uid)
	}
}

func (h *Hub) drop(uid string) {
	if len(h.feeds[uid].readers) == 0 {
		delete(h.feeds, uid)
	}
}

func (f *feed) wake(changed bool) {
	for r := range f.readers {
		r.changed = r.changed || changed
		select {
		case r.woken <- struct{}{}:
		default: // it has been woken and has not looked yet
		}
	}
}
