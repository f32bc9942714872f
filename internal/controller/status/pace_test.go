// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"
)

// If all waiting objects were reconciled at the same time, the reconciles would cost more than the writes.
func TestPacedReconcilesAreSpread(t *testing.T) {
	pace, now := NewPace(), time.Now()
	for i := range progressBurst {
		if _, allowed := pace.allow(now); !allowed {
			t.Fatalf("write %d within the burst was not allowed", i)
		}
	}
	var last time.Duration
	for i := range 100 {
		again, allowed := pace.allow(now)
		switch {
		case allowed:
			t.Fatalf("write %d beyond the burst was allowed", i)
		case i == 0 && again != progressWait:
			t.Errorf("the first delay is %s, want %s", again, progressWait)
		case i > 0 && again-last != time.Second/progressRate:
			t.Errorf("write %d is due %s after the previous one", i, again-last)
		}
		last = again
	}
	for range 1000 {
		if again, _ := pace.allow(now); again > mostProgressWait {
			t.Fatalf("the delay is %s, want at most %s", again, mostProgressWait)
		}
	}
	later := now.Add(mostProgressWait)
	if _, allowed := pace.allow(later); !allowed {
		t.Error("a write is not allowed after an idle period")
	}
}
