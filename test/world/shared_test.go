// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestShared_StartFails_EachTestFails(t *testing.T) {
	var shared Shared[int]
	for range 2 {
		needing := &starter{TB: t}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			shared.Get(needing, t, func(owner testing.TB) int {
				NewWithT(owner).Expect(1).To(Equal(2))
				return 3
			})
		}()
		<-ended
		if !strings.Contains(needing.failure, "it was not started") || !strings.Contains(needing.failure, "to equal") {
			t.Errorf("a test fails with %q", needing.failure)
		}
	}
	if t.Failed() {
		t.Error("the owner has failed too")
	}
}

func TestShared_StartSucceeds_OneValue(t *testing.T) {
	var shared Shared[*int]
	start := func(testing.TB) *int { return new(int) }
	first := shared.Get(t, t, start)
	if second := shared.Get(t, t, start); first != second {
		t.Error("it was started twice")
	}
}
