// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/model"
)

func TestBackoffDoublesUpToMinute(t *testing.T) {
	for attempt, want := range map[int]time.Duration{
		-1: time.Second, 0: time.Second, 1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 7: time.Minute, math.MaxInt: time.Minute,
	} {
		if low := model.Backoff(attempt, 0, 0); low != want/2 {
			t.Errorf("attempt %d: at least %s, want %s", attempt, low, want/2)
		}
		if high := model.Backoff(attempt, 0, 0.999999); high < want*99/100 || high > want {
			t.Errorf("attempt %d: at most %s, want about %s", attempt, high, want)
		}
	}
}

func TestBackoffRespectsRetryAfter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "asked"))
		wait := model.Backoff(rapid.Int().Draw(t, "attempt"), asked, rapid.Float64Range(0, 0.999).Draw(t, "random"))
		if wait < asked || wait > asked+asked/10 {
			t.Fatalf("wait is %s, the provider asked for %s", wait, asked)
		}
	})
}
