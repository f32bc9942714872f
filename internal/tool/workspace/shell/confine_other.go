// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package shell

import "os/exec"

// CanConfine reports whether the system can restrict commands to Runner.Writable.
func CanConfine() bool { return false }

// start starts a command, unconfined: this system has no Landlock.
func start(cmd *exec.Cmd, _ []string) error { return cmd.Start() }
