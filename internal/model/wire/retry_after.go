// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter bounds the wait that a provider may request; a longer one is more likely a mistake.
const maxRetryAfter = time.Hour

// retryAfter reads the requested wait from the headers, in milliseconds, seconds or as a date; 0 if there is none.
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
