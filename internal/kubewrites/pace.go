// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package kubewrites

import "time"

const (
	// Floor is the lowest limit of an adaptive gate: four writes keep two processors of an API server at work.
	Floor = 4
	// Ceiling is the highest: with 20 ms for a write, 64 at once are 3,000 a second.
	Ceiling = 64
	// start is where a gate begins to adapt.
	start = 16

	// Writes that take more than tolerance times as long as at best, and slack more, are queueing.
	tolerance = 2
	slack     = 5 * time.Millisecond
	// tooMany and overload are what is left of the limit when writes are queueing, and when the API server refuses one.
	tooMany  = 0.75
	overload = 0.5
	// weight is that of a new write in the smoothed time.
	weight = 1.0 / 8
	// window is how long the best time counts: between one and two windows. A control plane that has moved to a slower machine is known by then.
	window = 30 * time.Second
)

// pace is how many writes may be on their way, as the last ones show it.
type pace struct {
	limit float64
	// took is the smoothed time of a write; best and bestNow are the shortest of the window before and of this one, which ends at windowEnd.
	took          time.Duration
	best, bestNow time.Duration
	windowEnd     time.Time
	// held is until when the limit is not lowered again: the writes on their way were sent before it was.
	held time.Time
}

func newPace() *pace { return &pace{limit: start} }

// answered takes into account a write that took so long. Full says that no more were allowed when it was sent: else more would not have helped.
func (p *pace) answered(now time.Time, took time.Duration, full bool) {
	p.remember(now, took)
	switch {
	case p.took > tolerance*p.base()+slack:
		p.lower(now, tooMany)
	case full:
		p.limit = min(p.limit+1/p.limit, Ceiling)
	}
}

// refused takes into account a write that the API server refused because it is overloaded.
func (p *pace) refused(now time.Time) { p.lower(now, overload) }

func (p *pace) lower(now time.Time, left float64) {
	if now.Before(p.held) {
		return
	}
	p.limit = max(p.limit*left, Floor)
	p.held = now.Add(p.took)
}

func (p *pace) remember(now time.Time, took time.Duration) {
	switch {
	case p.windowEnd.IsZero():
		p.took, p.best, p.bestNow, p.windowEnd = took, took, took, now.Add(window)
	case !now.Before(p.windowEnd):
		p.best, p.bestNow, p.windowEnd = p.bestNow, took, now.Add(window)
	}
	p.bestNow = min(p.bestNow, took)
	p.took += time.Duration(weight * float64(took-p.took))
}

// base is how long a write takes at best.
func (p *pace) base() time.Duration { return min(p.best, p.bestNow) }
