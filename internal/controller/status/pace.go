// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The API server is the scarce resource: however many agents are at work, progress may take this many writes a second.
// What must be seen at once is written at once and does not count.
const (
	progressRate  = 25
	progressBurst = 100
	progressWait  = time.Second
	// mostProgressWait is how long one who must wait stays away at most: some of those before it may have ended meanwhile.
	mostProgressWait = 10 * time.Second
)

// Pace limits the writes that only show progress.
type Pace struct {
	limiter *rate.Limiter
	mu      sync.Mutex
	last    time.Time // when the last of those comes again that were sent away
}

// NewPace returns a pace that nobody has used.
func NewPace() *Pace { return &Pace{limiter: rate.NewLimiter(progressRate, progressBurst)} }

// allow says whether to write now, or when to come again. Those who wait come one after the other: if all came every second, looking
// at them would cost more than what they want to write.
func (p *Pace) allow(now time.Time) (again time.Duration, allowed bool) {
	if p.limiter.AllowN(now, 1) {
		return 0, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	again = min(max(p.last.Sub(now)+time.Second/progressRate, progressWait), mostProgressWait)
	p.last = now.Add(again)
	return again, false
}
