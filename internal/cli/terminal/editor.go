// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import "io"

// Editor lets a person change the arguments of a call in an editor. A full-screen program gives it the terminal while it runs.
type Editor interface {
	SetStdin(in io.Reader)
	SetStdout(out io.Writer)
	SetStderr(out io.Writer)
	// Run fails if the arguments cannot be used, or were not changed.
	Run() error
	// Edited returns the arguments after Run.
	Edited() string
}
