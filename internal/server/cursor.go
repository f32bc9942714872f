// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/url"
	"slices"
	"strings"
)

// cursor says how far each source of a stream has come: a resource version for objects, a sequence number for a transcript.
// It travels as the id of events, and comes back as Last-Event-ID.
type cursor map[string]string

// maxCursor bounds what a page may send back.
const maxCursor = 4096

// parseCursor reads an id. What is not one is no position: the stream begins anew.
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

// String is the cursor as an id: one line, in a stable order.
func (c cursor) String() string {
	parts := make([]string, 0, len(c))
	for source, position := range c {
		parts = append(parts, url.QueryEscape(source)+"="+url.QueryEscape(position))
	}
	slices.Sort(parts)
	return strings.Join(parts, "&")
}
