// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/nestor-dev/nestor/internal/localcluster/lifeline"
)

// Process is a running program. It ends with this process.
type Process = lifeline.Process

// run starts a program with output to the two writers.
func run(stdout, stderr io.Writer, env []string, program string, args ...string) (*Process, error) {
	cmd := exec.Command(program, args...) //nolint:noctx // runs until this process ends
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Env = append(os.Environ(), env...)
	return lifeline.Start(cmd, syscall.SIGKILL)
}
