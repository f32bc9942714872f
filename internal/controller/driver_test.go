// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import "testing"

func TestMemoryIsGivenBackOnceWhenMuchWorkIsOver(t *testing.T) {
	var b allocationBurst
	for i, look := range []struct {
		allocated uint64
		over      bool
	}{
		{idleBytes, false},                  // start
		{3 * burstBytes, false},             // burst
		{4 * burstBytes, false},             // burst continues
		{4*burstBytes + 1, true},            // burst ended
		{4*burstBytes + 2, false},           // reported only once
		{4*burstBytes + 2*idleBytes, false}, // a small allocation
		{4*burstBytes + 2*idleBytes, false}, // is no burst
		{5*burstBytes + 2*idleBytes, false}, // the next burst starts
		{5*burstBytes + 2*idleBytes + 1, true},
	} {
		if got := b.over(look.allocated); got != look.over {
			t.Errorf("check %d: over(%d) = %t", i, look.allocated, got)
		}
	}
	before := allocated()
	kept = make([]byte, idleBytes)
	if after := allocated(); after-before < idleBytes {
		t.Errorf("allocated %d bytes, counted %d", idleBytes, after-before)
	}
}

// kept keeps the compiler from optimizing an allocation away.
var kept []byte
