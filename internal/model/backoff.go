// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import "time"

const (
	backoffBase = time.Second
	backoffMax  = time.Minute
)

// Backoff returns how long to wait before the next attempt. attempt counts the failed attempts, from 1; retryAfter is
// the wait that the provider requested, or 0; random is in [0, 1). The wait doubles from a second up to a minute,
// with jitter down to half of it, so that callers that failed together do not retry together. It is never less than
// retryAfter, to which up to a tenth is added for the same reason. Backoff is a pure function; the caller records the
// time of the retry.
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
