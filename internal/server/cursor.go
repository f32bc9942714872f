// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/url"
	"slices"
	"strings"
)

// cursor records the position of each source of a stream: a resource version for objects, a sequence number for a
// transcript. It is sent as the ID of events and comes back as Last-Event-ID.
type cursor map[string]string

// maxCursor bounds the ID that a page may send.
const maxCursor = 4096

// parseCursor parses an ID. An invalid one is ignored: the stream starts from the beginning.
func parseCursor(id string) cursor {
	c := cursor{}
	if len(id) > maxCursor {
		return c
	}
	values, err := url.ParseQuery(id)
	if err != nil {
		return c
	}
	for source := range values {
		c[source] = values.Get(source)
	}
	return c
}

// String formats the cursor as an ID: one line, in a stable order.
func (c cursor) String() string {
	parts := make([]string, 0, len(c))
	for source, position := range c {
		parts = append(parts, url.QueryEscape(source)+"="+url.QueryEscape(position))
	}
	slices.Sort(parts)
	return strings.Join(parts, "&")
}
