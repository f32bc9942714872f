// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package topui

import "time"

// rateWindow is the time over which tokens per second are averaged: statuses are written every second or less often.
const rateWindow = 15 * time.Second

// sample is the number of tokens that a run or agent had used at a time.
type sample struct {
	at     time.Time
	tokens int64
}

// rates holds the samples of runs and agents, by key.
type rates map[string][]sample

// add records the tokens of a key, and drops the samples that the window no longer needs.
func (r rates) add(key string, at time.Time, tokens int64) {
	samples := append(r[key], sample{at, tokens})
	for len(samples) > 2 && at.Sub(samples[1].at) >= rateWindow {
		samples = samples[1:]
	}
	r[key] = samples
}

// perSecond returns the tokens per second of a key within the window. It is 0 before a second has passed.
func (r rates) perSecond(key string) float64 {
	samples := r[key]
	if len(samples) < 2 {
		return 0
	}
	first, last := samples[0], samples[len(samples)-1]
	seconds := last.at.Sub(first.at).Seconds()
	if seconds < 1 || last.tokens < first.tokens {
		return 0
	}
	return float64(last.tokens-first.tokens) / seconds
}
