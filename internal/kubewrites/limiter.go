// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package kubewrites

import "time"

const (
	// Floor is the lowest limit of an adaptive gate: four writes keep two CPUs of an API server busy.
	Floor = 4
	// Ceiling is the highest: at 20 ms per write, 64 in parallel are 3,000 per second.
	Ceiling      = 64
	initialLimit = 16

	// Writes that take more than tolerance times the shortest duration plus slack are queueing.
	tolerance = 2
	slack     = 5 * time.Millisecond
	// queueingFactor and overloadFactor multiply the limit when writes are queueing, and when the API server rejects one
	// because it is overloaded.
	queueingFactor = 0.75
	overloadFactor = 0.5
	// weight is the weight of a new write in the smoothed duration.
	weight = 1.0 / 8
	// window is how long the shortest duration counts: between one and two windows. By then a control plane that
	// moved to a slower machine is detected.
	window = 30 * time.Second
)

type limiter struct {
	limit float64
	// smoothed is the smoothed duration of a write; best and bestNow are the shortest ones of the previous and the
	// current window, which ends at windowEnd.
	smoothed      time.Duration
	best, bestNow time.Duration
	windowEnd     time.Time
	// holdUntil is the time until which the limit is not lowered again, because the writes in flight were sent before it
	// was lowered.
	holdUntil time.Time
}

func newLimiter() *limiter { return &limiter{limit: initialLimit} }

// recordSuccess records a write and its duration. full means that the limit was reached when it was sent; otherwise a
// higher limit would not have helped.
func (p *limiter) recordSuccess(now time.Time, took time.Duration, full bool) {
	p.recordDuration(now, took)
	switch {
	case p.smoothed > tolerance*p.base()+slack:
		p.lower(now, queueingFactor)
	case full:
		p.limit = min(p.limit+1/p.limit, Ceiling)
	}
}

// recordOverload records a write that the API server rejected because it is overloaded.
func (p *limiter) recordOverload(now time.Time) { p.lower(now, overloadFactor) }

func (p *limiter) lower(now time.Time, left float64) {
	if now.Before(p.holdUntil) {
		return
	}
	p.limit = max(p.limit*left, Floor)
	p.holdUntil = now.Add(p.smoothed)
}

func (p *limiter) recordDuration(now time.Time, took time.Duration) {
	switch {
	case p.windowEnd.IsZero():
		p.smoothed, p.best, p.bestNow, p.windowEnd = took, took, took, now.Add(window)
	case !now.Before(p.windowEnd):
		p.best, p.bestNow, p.windowEnd = p.bestNow, took, now.Add(window)
	}
	p.bestNow = min(p.bestNow, took)
	p.smoothed += time.Duration(weight * float64(took-p.smoothed))
}

func (p *limiter) base() time.Duration { return min(p.best, p.bestNow) }
