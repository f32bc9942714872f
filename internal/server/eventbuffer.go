// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"container/list"
	"context"
	"slices"
	"sync"
)

// event is a server-sent event.
type event struct {
	// name is the type of the event.
	name string
	// key identifies the subject of the event. A newer event with the same key replaces one that was not sent yet;
	// events without a key are all sent.
	key string
	// data is JSON, on one line.
	data []byte
	// parts are further entries of a transcript, as JSON. A newer event with parts is appended to an older one
	// instead of replacing it.
	parts [][]byte
	// source and position are the position of the source after this event. Without a source the position does not
	// change.
	source, position string
}

// eventBuffer holds the events that were not sent yet. It is bounded: put waits for room, so that the sources stop reading
// from the API server and a slow page needs no more memory than a fast one.
type eventBuffer struct {
	limit int

	mu     sync.Mutex
	events *list.List               // of event, in the order of their positions
	byKey  map[string]*list.Element // the events that may be replaced
	room   chan struct{}            // closed when there is room again
	filled chan struct{}            // has an element when events is not empty
}

func newEventBuffer(limit int) *eventBuffer {
	return &eventBuffer{limit: limit, events: list.New(), byKey: map[string]*list.Element{}, room: make(chan struct{}), filled: make(chan struct{}, 1)}
}

// put adds an event or replaces the older one with the same key. It waits for room until ctx ends.
func (o *eventBuffer) put(ctx context.Context, e event) error {
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

// tryPut returns nil if the event was added, else a channel that is closed when there is room.
func (o *eventBuffer) tryPut(e event) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	older, again := o.byKey[e.key]
	switch {
	case again && e.key != "":
		merged, ok := merge(older.Value.(event), e)
		if !ok {
			return o.room
		}
		// Append it, so that positions only grow.
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

// maxBatch bounds the buffered bytes of a transcript.
const maxBatch = 256 << 10

// merge merges a newer event with an older one. It reports false if the result would be too large.
func merge(older, newer event) (event, bool) {
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

// take waits for events and returns all of them, or none if ctx ends.
func (o *eventBuffer) take(ctx context.Context) []event {
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
