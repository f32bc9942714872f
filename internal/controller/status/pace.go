// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The API server is the bottleneck: progress may take this many writes a second, however many agents are active. Urgent
// writes are made at once and do not count.
const (
	progressRate  = 25
	progressBurst = 100
	progressWait  = time.Second
	// mostProgressWait is the longest delay of a write: earlier writers may have ended in the meantime.
	mostProgressWait = 10 * time.Second
)

// Pace limits the writes that only show progress.
type Pace struct {
	limiter *rate.Limiter
	mu      sync.Mutex
	last    time.Time // when the latest delayed write is due
}

func NewPace() *Pace { return &Pace{limiter: rate.NewLimiter(progressRate, progressBurst)} }

// allow reports whether to write now, or after which delay to try again. The delays are staggered: if all waiting
// objects were reconciled every second, the reconciles would cost more than the writes.
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
