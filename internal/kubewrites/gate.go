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

// Gate lets only some writes be on their way at once. The others wait, and pass in the order in which they came.
type Gate struct {
	mu       sync.Mutex
	limit    int
	pace     *pace // nil: the limit stays as it is
	inFlight int
	waiting  []chan struct{}
}

// Stats say how many writes a gate lets through, and has let through.
type Stats struct{ Limit, InFlight, Waiting int }

// Fixed returns a gate for so many writes.
func Fixed(limit int) *Gate { return &Gate{limit: limit} }

// Adaptive returns a gate that finds out how many writes the API server takes.
func Adaptive() *Gate { return &Gate{limit: start, pace: newPace()} }

// Stats returns how the gate stands.
func (g *Gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Stats{Limit: g.limit, InFlight: g.inFlight, Waiting: len(g.waiting)}
}

// Do makes a write when it is its turn. It fails if ctx ends before.
func (g *Gate) Do(ctx context.Context, write func() (*http.Response, error)) (*http.Response, error) {
	if err := g.enter(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	response, err := write()
	g.leave(began, response, err)
	return response, err
}

func (g *Gate) enter(ctx context.Context) error {
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
	g.inFlight-- // its turn came at the same moment: it is the next one's
	g.admit()
	return ctx.Err()
}

// leave learns from a write that has ended, and lets the next ones pass.
func (g *Gate) leave(began time.Time, response *http.Response, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pace != nil {
		g.learn(began, response, err)
	}
	g.inFlight--
	g.admit()
}

func (g *Gate) learn(began time.Time, response *http.Response, err error) {
	now := time.Now()
	switch {
	case err != nil: // the connection, or whoever wrote, gave up: that says nothing of the API server
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError:
		g.pace.refused(now)
	case response.StatusCode < http.StatusMultipleChoices: // a conflict is answered sooner than a write
		g.pace.answered(now, now.Sub(began), g.inFlight >= g.limit)
	}
	g.limit = int(g.pace.limit)
}

// admit gives their turn to those that wait, as far as there is room.
func (g *Gate) admit() {
	for g.inFlight < g.limit && len(g.waiting) > 0 {
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
		g.inFlight++
	}
}
