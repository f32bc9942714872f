// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"testing"
)

func TestUnionRefusesDuplicateNames(t *testing.T) {
	if _, err := namedTools(t, "read").Union(namedTools(t, "grep"), namedTools(t, "read")); err == nil {
		t.Error("two tools called read were accepted")
	}
}
