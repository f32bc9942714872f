// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ports_test

import (
	"testing"

	"github.com/nestor-dev/nestor/test/ports"
)

func TestNoAddressTwice(t *testing.T) {
	given := map[string]bool{}
	for range 500 {
		address, err := ports.Free(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if given[address] {
			t.Fatalf("%s was returned before", address)
		}
		given[address] = true
	}
}
