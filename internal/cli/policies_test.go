// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/view"
)

func TestExactCallShowsWhyPoliciesRequireIt(t *testing.T) {
	ask := view.Ask{Tool: "bash", Arguments: `{"command":"make"}`, Reasons: []string{"Required by policy team/writes, rule people: Ask\u202e first."}}
	want := `bash {"command":"make"}` + "\n" + `Required by policy team/writes, rule people: Ask\u202e first.`
	if got := exactCall(ask); got != want {
		t.Errorf("it shows %q, want %q", got, want)
	}
}
