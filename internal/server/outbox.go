// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"container/list"
	"context"
	"slices"
	"sync"
)

// event is one thing that a page is told.
type event struct {
	// name is what kind of thing it is.
	name string
	// key is what the event is about. A newer event about the same replaces one that was not sent yet; events without a key
	// are all sent.
	key string
	// data is JSON, on one line.
	data []byte
	// parts are further entries of a transcript, as JSON. A newer event with parts does not replace an older one: it goes on
	// with it.
	parts [][]byte
	// source and position say how far the source has come with this event. Without a source the position does not change.
	source, position string
}

// outbox holds what a page has not been sent yet. It is bounded: put waits for room, so that whoever fills it stops reading
// from the API server, and a slow page costs no more memory than a fast one.
type outbox struct {
	limit int

	mu     sync.Mutex
	events *list.List               // of event, in the order of their positions
	byKey  map[string]*list.Element // the events that may be replaced
	room   chan struct{}            // closed when there is room again
	filled chan struct{}            // has an element when events is not empty
}

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, events: list.New(), byKey: map[string]*list.Element{}, room: make(chan struct{}), filled: make(chan struct{}, 1)}
}

// put adds an event, or replaces the older one about the same. It waits for room until ctx ends.
func (o *outbox) put(ctx context.Context, e event) error {
	for {
		room := o.tryPut(e)
		if room == nil {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryPut returns nil if the event was taken, else what will be closed when it may be tried again.
func (o *outbox) tryPut(e event) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	older, again := o.byKey[e.key]
	switch {
	case again && e.key != "":
		merged, ok := follows(older.Value.(event), e)
		if !ok {
			return o.room
		}
		// It goes to the end, so that positions only grow.
		o.events.Remove(older)
		e = merged
	case o.events.Len() >= o.limit:
		return o.room
	}
	element := o.events.PushBack(e)
	if e.key != "" {
		o.byKey[e.key] = element
	}
	select {
	case o.filled <- struct{}{}:
	default:
	}
	return nil
}

// maxBatch is how many bytes of a transcript wait for a page.
const maxBatch = 256 << 10

// follows is the newer event with what it must not lose of the older one; it is false when that would become too much.
func follows(older, newer event) (event, bool) {
	if newer.parts == nil {
		return newer, true
	}
	size := 0
	for _, part := range older.parts {
		size += len(part)
	}
	newer.parts = append(slices.Clip(older.parts), newer.parts...)
	if newer.source == "" {
		newer.source, newer.position = older.source, older.position
	}
	return newer, size < maxBatch
}

// take waits for events and returns all of them. It returns none when ctx ends.
func (o *outbox) take(ctx context.Context) []event {
	select {
	case <-o.filled:
	case <-ctx.Done():
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := make([]event, 0, o.events.Len())
	for element := o.events.Front(); element != nil; element = element.Next() {
		taken = append(taken, element.Value.(event))
	}
	o.events.Init()
	clear(o.byKey)
	close(o.room)
	o.room = make(chan struct{})
	return taken
}
