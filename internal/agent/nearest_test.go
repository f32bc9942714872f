// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"calculator", "current_time", "github__get_issue", "read", "read_result", "write"}
	for name, want := range map[string][]string{
		"Calculator":        {"calculator"},
		"currentTime":       {"current_time"},
		"get_issue":         {"github__get_issue"},
		"gitlab__get_issue": {"github__get_issue"},
		"raed":              {"read"},
		"teleport":          {},
		"":                  {},
	} {
		if got := nearest(name, names); !slices.Equal(got, want) {
			t.Errorf("nearest to %q: %q, want %q", name, got, want)
		}
	}
}
