// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package programs has what tests do about programs that a machine may not have.
package programs

import (
	"os"
	"os/exec"
)

// T is what a test or a spec offers.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Need skips the test if a program is not installed. In CI, where all programs are needed, the test fails.
func Need(t T, name string) {
	t.Helper()
	_, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%s is needed in CI: %v", name, err)
	}
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
}
