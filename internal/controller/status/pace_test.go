// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"
)

// If all who wait came again at the same time, looking at them would cost more than what they want to write.
func TestThoseWhoWaitToShowProgressComeOneAfterTheOther(t *testing.T) {
	pace, now := NewPace(), time.Now()
	for i := range progressBurst {
		if _, allowed := pace.allow(now); !allowed {
			t.Fatalf("write %d was not allowed, though nobody had written", i)
		}
	}
	var last time.Duration
	for i := range 100 {
		again, allowed := pace.allow(now)
		switch {
		case allowed:
			t.Fatalf("write %d beyond the burst was allowed", i)
		case i == 0 && again != progressWait:
			t.Errorf("the first who must wait comes again after %s, want %s", again, progressWait)
		case i > 0 && again-last != time.Second/progressRate:
			t.Errorf("number %d comes %s after the one before", i, again-last)
		}
		last = again
	}
	for range 1000 {
		if again, _ := pace.allow(now); again > mostProgressWait {
			t.Fatalf("one waits for %s, want at most %s", again, mostProgressWait)
		}
	}
	later := now.Add(mostProgressWait)
	if _, allowed := pace.allow(later); !allowed {
		t.Error("a write is not allowed after a quiet time")
	}
}
