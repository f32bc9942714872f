// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/model"
)

// Recorded is a request that the server received.
type Recorded struct {
	// Number counts the requests from 1; At is the time of arrival.
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	API    model.API `json:"api"`
	// Role, Turn, Model and Messages are parsed from the request; they are empty if it could not be parsed.
	Role     string `json:"role,omitempty"`
	Turn     int    `json:"turn,omitempty"`
	Model    string `json:"model,omitempty"`
	Messages int    `json:"messages,omitempty"`
	// Rule is the file and line of the rule that answered, or "fallback".
	Rule   string `json:"rule,omitempty"`
	Status int    `json:"status"`
	Error  string `json:"error,omitempty"`
	// IdempotencyKey is the value of the header. Authorized reports whether the request had a key, which is not
	// recorded.
	IdempotencyKey string  `json:"idempotencyKey,omitempty"`
	Authorized     bool    `json:"authorized"`
	Traceparent    string  `json:"traceparent,omitempty"`
	Body           rawBody `json:"body,omitempty"`
}

// rawBody is encoded as JSON if it is JSON, else as text.
type rawBody []byte

func (b rawBody) MarshalJSON() ([]byte, error) {
	if json.Valid(b) {
		return b, nil
	}
	return json.Marshal(string(b))
}

// recorder keeps the newest requests.
type recorder struct {
	limit int

	mu    sync.Mutex
	total int
	ring  []Recorded
}

func (r *recorder) add(rec Recorded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	if r.limit < 0 {
		return
	}
	rec.Number = r.total
	if len(r.ring) < r.limit {
		r.ring = append(r.ring, rec)
		return
	}
	r.ring[(r.total-1)%r.limit] = rec
}

func (r *recorder) all() []Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limit <= 0 || r.total <= len(r.ring) {
		return slices.Clone(r.ring)
	}
	oldest := r.total % r.limit
	return slices.Concat(r.ring[oldest:], r.ring[:oldest])
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total, r.ring = 0, nil
}
