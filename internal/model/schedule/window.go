// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"
)

// A minute is counted in buckets of one second. A bucket leaves the window sixty seconds after its end, so the count
// is slightly too high rather than too low, and a window needs little memory at any rate.
const (
	bucketWidth  = time.Second
	windowLength = time.Minute
)

// window counts the usage of the last minute against a limit. A limit of 0 means none.
type window struct {
	limit   int64
	sum     int64
	buckets []bucket // oldest first, at most 61
}

type bucket struct {
	start  time.Time
	amount int64
}

func (b bucket) expires() time.Time { return b.start.Add(bucketWidth + windowLength) }

// expire drops buckets that are older than a minute.
func (w *window) expire(now time.Time) {
	n := 0
	for n < len(w.buckets) && !w.buckets[n].expires().After(now) {
		w.sum -= w.buckets[n].amount
		n++
	}
	w.buckets = slices.Delete(w.buckets, 0, n)
}

func (w *window) add(now time.Time, amount int64) {
	start := now.Truncate(bucketWidth)
	w.sum += amount
	if n := len(w.buckets); n > 0 && w.buckets[n-1].start.Equal(start) {
		w.buckets[n-1].amount += amount
		return
	}
	w.buckets = append(w.buckets, bucket{start: start, amount: amount})
}

// correct changes an amount that was counted at a time, if it is still in the window.
func (w *window) correct(at time.Time, by int64) {
	start := at.Truncate(bucketWidth)
	for i := range w.buckets {
		if w.buckets[i].start.Equal(start) {
			w.buckets[i].amount += by
			w.sum += by
			return
		}
	}
}

// fits returns when an amount fits, if nothing else is added until then. An amount above the limit waits for an empty
// window instead of forever.
func (w *window) fits(now time.Time, amount int64) time.Time {
	if w.limit <= 0 {
		return now
	}
	over := w.sum + min(amount, w.limit) - w.limit
	for _, b := range w.buckets {
		if over <= 0 {
			break
		}
		over -= b.amount
		now = b.expires()
	}
	return now
}

// fitsInto is like fits with only a part of the limit. It reports false if the amount never fits; an amount above the
// limit needs the whole limit.
func (w *window) fitsInto(part int64, now time.Time, amount int64) (time.Time, bool) {
	if w.limit <= 0 {
		return now, true
	}
	if min(amount, w.limit) > part {
		return time.Time{}, false
	}
	shared := window{limit: part, sum: w.sum, buckets: w.buckets}
	return shared.fits(now, min(amount, w.limit)), true
}

// wait estimates how long it takes until all of an amount has fit, which may need more than one window.
func (w *window) wait(now time.Time, amount int64) time.Duration {
	if w.limit <= 0 || amount <= 0 {
		return 0
	}
	rounds, rest := (amount-1)/w.limit, (amount-1)%w.limit+1
	return w.fits(now, rest).Sub(now) + time.Duration(min(rounds, 1000))*windowLength
}

// share returns the fraction of the limit in use, in millionths.
func (w *window) share() int64 { return fraction(w.sum, w.limit) }

// fraction returns used/limit in millionths, or 0 without a limit.
func fraction(used, limit int64) int64 {
	if limit <= 0 {
		return 0
	}
	const million = 1_000_000
	if used > (1<<62)/million {
		return used / limit * million
	}
	return used * million / limit
}
