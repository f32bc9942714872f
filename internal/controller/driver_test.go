// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import "testing"

func TestMemoryIsGivenBackOnceWhenMuchWorkIsOver(t *testing.T) {
	var b burst
	for i, look := range []struct {
		allocated uint64
		over      bool
	}{
		{little, false},            // it begins
		{3 * much, false},          // at work
		{4 * much, false},          // still
		{4*much + 1, true},         // over
		{4*much + 2, false},        // that was told
		{4*much + 2*little, false}, // a little
		{4*much + 2*little, false}, // is not worth it
		{5*much + 2*little, false}, // but much is
		{5*much + 2*little + 1, true},
	} {
		if got := b.over(look.allocated); got != look.over {
			t.Errorf("look %d: over(%d) = %t", i, look.allocated, got)
		}
	}
	before := allocated()
	kept = make([]byte, little)
	if after := allocated(); after-before < little {
		t.Errorf("%d bytes were allocated, and %d are counted", little, after-before)
	}
}

// kept makes an allocation one that the compiler cannot leave out.
var kept []byte
