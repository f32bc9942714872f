// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package shell

import "syscall"

// adoptOrphans does nothing: this system has no subreapers.
func adoptOrphans() error { return nil }

// closeInherited does nothing: this system cannot close a range of files.
func closeInherited() {}

// killAll kills the process group of the shell. A process that left the group
// survives.
func killAll(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// tasks counts nothing: this system does not list processes in a file system.
func tasks(int) int { return 0 }
