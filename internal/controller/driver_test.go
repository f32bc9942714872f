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
		{idleBytes, false},                  // it begins
		{3 * burstBytes, false},             // at work
		{4 * burstBytes, false},             // still
		{4*burstBytes + 1, true},            // over
		{4*burstBytes + 2, false},           // that was told
		{4*burstBytes + 2*idleBytes, false}, // a little
		{4*burstBytes + 2*idleBytes, false}, // is not worth it
		{5*burstBytes + 2*idleBytes, false}, // but much is
		{5*burstBytes + 2*idleBytes + 1, true},
	} {
		if got := b.over(look.allocated); got != look.over {
			t.Errorf("look %d: over(%d) = %t", i, look.allocated, got)
		}
	}
	before := allocated()
	kept = make([]byte, idleBytes)
	if after := allocated(); after-before < idleBytes {
		t.Errorf("%d bytes were allocated, and %d are counted", idleBytes, after-before)
	}
}

// kept makes an allocation one that the compiler cannot leave out.
var kept []byte
