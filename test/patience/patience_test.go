// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package patience

import (
	"testing"
	"time"
)

func TestFactor(t *testing.T) {
	for text, want := range map[string]time.Duration{"": base, "4": 4 * base, "0.5": base / 2} {
		t.Setenv(Variable, text)
		if got := Limit(); got != want {
			t.Errorf("%s=%q gives %s instead of %s", Variable, text, got, want)
		}
	}
}

func TestUntil_HoldsLater_True(t *testing.T) {
	checks := 0
	if !Until(func() bool { checks++; return checks == 3 }) {
		t.Error("it did not wait for the third check")
	}
}

func TestUntil_NeverHolds(t *testing.T) {
	t.Setenv(Variable, "0.001")
	if Until(func() bool { return false }) {
		t.Error("it holds")
	}
}
