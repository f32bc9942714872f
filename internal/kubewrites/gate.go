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

// Kind is the purpose of a write.
type Kind int

const (
	// Result is the end of work, its progress, or anything else that a person or another agent waits for.
	Result Kind = iota
	// Start creates the object of new work. It waits for results, which would otherwise wait for all the work that was
	// created later.
	Start

	kinds
)

// startShare is the share of admitted writes that are starts while both kinds wait: one in startShare. Without it,
// results could keep new work from starting.
const startShare = 4

// Gate limits the number of writes in flight. Further writes wait; those of a kind are admitted in order.
type Gate struct {
	mu       sync.Mutex
	limit    int
	limiter  *limiter // nil: the limit is fixed
	inFlight int
	waiting  [kinds][]chan struct{}
	// overtaken is the number of results that were admitted since a start while a start was waiting.
	overtaken int
}

// Stats are the current limit, writes in flight and waiting writes of a gate.
type Stats struct{ Limit, InFlight, Waiting int }

func Fixed(limit int) *Gate { return &Gate{limit: limit} }

// Adaptive returns a gate that adapts its limit to the API server.
func Adaptive() *Gate { return &Gate{limit: initialLimit, limiter: newLimiter()} }

func (g *Gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Stats{Limit: g.limit, InFlight: g.inFlight, Waiting: len(g.waiting[Result]) + len(g.waiting[Start])}
}

// Do runs a write when it is admitted. It fails if ctx ends before.
func (g *Gate) Do(ctx context.Context, kind Kind, write func() (*http.Response, error)) (*http.Response, error) {
	if err := g.acquire(ctx, kind); err != nil {
		return nil, err
	}
	began := time.Now()
	response, err := write()
	g.release(began, response, err)
	return response, err
}

func (g *Gate) acquire(ctx context.Context, kind Kind) error {
	g.mu.Lock()
	if g.inFlight < g.limit {
		g.inFlight++
		g.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	g.waiting[kind] = append(g.waiting[kind], turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := slices.Index(g.waiting[kind], turn); at >= 0 {
		g.waiting[kind] = slices.Delete(g.waiting[kind], at, at+1)
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
	case err != nil: // cancelled or disconnected, which is no measure of the API server
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError:
		g.limiter.recordOverload(now)
	case response.StatusCode < http.StatusMultipleChoices: // a conflict is faster than a write
		g.limiter.recordSuccess(now, now.Sub(began), g.inFlight >= g.limit)
	}
	g.limit = int(g.limiter.limit)
}

// admit admits waiting writes up to the limit.
func (g *Gate) admit() {
	for g.inFlight < g.limit && len(g.waiting[Result])+len(g.waiting[Start]) > 0 {
		kind := g.next()
		close(g.waiting[kind][0])
		g.waiting[kind] = g.waiting[kind][1:]
		g.inFlight++
	}
}

func (g *Gate) next() Kind {
	starts, results := len(g.waiting[Start]) > 0, len(g.waiting[Result]) > 0
	if starts && (!results || g.overtaken >= startShare-1) {
		g.overtaken = 0
		return Start
	}
	if starts {
		g.overtaken++
	}
	return Result
}
