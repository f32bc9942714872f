// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import "context"

// TextOf returns the text of an event that search finds; empty if there is none.
type TextOf func(Event) string

// Searches finds text in the events of agents. It returns ErrSearchOff if the ledger was opened without a TextOf.
type Searches interface {
	// Search lists the agents with an event that contains all terms of the query, those with the newest such event first.
	Search(ctx context.Context, query SearchQuery, page Page) (List[SearchHit], error)
}

// SearchQuery selects events. Since and Until bound the creation of their agents.
type SearchQuery struct {
	Scope
	// Text has the terms, see package words.
	Text string
}

// SearchHit is an agent with events that match.
type SearchHit struct {
	Run
	// Count is the number of events that match, and Events are the newest MaxHitEvents of them, newest first.
	Count  int64
	Events []Event
}

// MaxHitEvents bounds the events of a hit.
const MaxHitEvents = 3
