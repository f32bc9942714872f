// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// hideMemory prevents other processes of the same user, such as those that bash starts, from reading this process's
// environment, memory and open files through /proc or ptrace. It does not protect against root.
func hideMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide memory from other processes: %w", err)
	}
	return nil
}
