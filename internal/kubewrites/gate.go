// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package kubewrites

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Gate limits the number of writes in flight. Further writes wait and are admitted in order.
type Gate struct {
	mu       sync.Mutex
	limit    int
	limiter  *limiter // nil: the limit is fixed
	inFlight int
	waiting  []chan struct{}
}

// Stats are the current limit, writes in flight and waiting writes of a gate.
type Stats struct{ Limit, InFlight, Waiting int }

func Fixed(limit int) *Gate { return &Gate{limit: limit} }

// Adaptive returns a gate that adapts its limit to the API server.
func Adaptive() *Gate { return &Gate{limit: initialLimit, limiter: newLimiter()} }

func (g *Gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Stats{Limit: g.limit, InFlight: g.inFlight, Waiting: len(g.waiting)}
}

// Do runs a write when it is admitted. It fails if ctx ends before.
func (g *Gate) Do(ctx context.Context, write func() (*http.Response, error)) (*http.Response, error) {
	if err := g.acquire(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	response, err := write()
	g.release(began, response, err)
	return response, err
}

func (g *Gate) acquire(ctx context.Context) error {
	g.mu.Lock()
	if g.inFlight < g.limit {
		g.inFlight++
		g.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	g.waiting = append(g.waiting, turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := slices.Index(g.waiting, turn); at >= 0 {
		g.waiting = slices.Delete(g.waiting, at, at+1)
		return ctx.Err()
	}
	g.inFlight-- // it was admitted at the same moment: admit the next one instead
	g.admit()
	return ctx.Err()
}

// release records a finished write and admits the next ones.
func (g *Gate) release(began time.Time, response *http.Response, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limiter != nil {
		g.record(began, response, err)
	}
	g.inFlight--
	g.admit()
}

func (g *Gate) record(began time.Time, response *http.Response, err error) {
	now := time.Now()
	switch {
	case err != nil: // cancelled or disconnected, which says nothing about the API server
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError:
		g.limiter.recordOverload(now)
	case response.StatusCode < http.StatusMultipleChoices: // a conflict is faster than a write
		g.limiter.recordSuccess(now, now.Sub(began), g.inFlight >= g.limit)
	}
	g.limit = int(g.limiter.limit)
}

// admit admits waiting writes up to the limit.
func (g *Gate) admit() {
	for g.inFlight < g.limit && len(g.waiting) > 0 {
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
		g.inFlight++
	}
}
