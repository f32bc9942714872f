// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter bounds what a provider may ask for: beyond it a mistake is likelier than a plan.
const maxRetryAfter = time.Hour

// retryAfter reads the time to wait from the headers, in milliseconds, seconds or as a date; 0 if there is none.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if header == nil {
		return 0
	}
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return boundedWait(ms, time.Millisecond)
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return boundedWait(seconds, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

func boundedWait(n float64, unit time.Duration) time.Duration {
	if math.IsNaN(n) || n <= 0 {
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(maxRetryAfter)))
}

// The bounds of Backoff.
const (
	backoffBase = time.Second
	backoffMax  = time.Minute
)

// Backoff is how long to wait before the next try. attempt counts the tries that failed, from 1; retryAfter is what the
// provider asked for, or 0; random is in [0, 1). The wait doubles from a second up to a minute, and lies between half of
// that and the whole, so that callers that failed together do not come back together. It is never less than retryAfter,
// and for the same reason up to a tenth more. It is a pure function: the wait itself is the caller's state with a time.
func Backoff(attempt int, retryAfter time.Duration, random float64) time.Duration {
	if retryAfter > 0 {
		return retryAfter + time.Duration(random*float64(retryAfter)/10)
	}
	wait := backoffMax
	if doublings := max(attempt, 1) - 1; doublings < 6 {
		wait = min(backoffBase<<doublings, backoffMax)
	}
	return wait/2 + time.Duration(random*float64(wait)/2)
}
