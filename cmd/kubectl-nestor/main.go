// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-nestor is the kubectl plugin for using and inspecting agents from a terminal. If it is on the PATH,
// `kubectl nestor` runs it.
package main

import (
	"os"

	"github.com/nestor-dev/nestor/internal/cli"
)

func main() { os.Exit(cli.Main()) }
