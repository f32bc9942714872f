// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package programs_test

import (
	"testing"

	"github.com/nestor-dev/nestor/test/programs"
)

// recorder notes what a test would do.
type recorder struct{ failed, skipped bool }

func (*recorder) Helper()                 {}
func (r *recorder) Fatalf(string, ...any) { r.failed = true }
func (r *recorder) Skipf(string, ...any)  { r.skipped = !r.failed } // Fatalf of a test does not return

func TestMissingProgramFailsInCI(t *testing.T) {
	for _, c := range []struct {
		ci, program     string
		failed, skipped bool
	}{
		{"true", "go", false, false},
		{"", "go", false, false},
		{"true", "no-such-program", true, false},
		{"", "no-such-program", false, true},
	} {
		t.Setenv("CI", c.ci)
		var r recorder
		programs.Need(&r, c.program)
		if r.failed != c.failed || r.skipped != c.skipped {
			t.Errorf("CI=%s: %s: failed %t, skipped %t", c.ci, c.program, r.failed, r.skipped)
		}
	}
}
