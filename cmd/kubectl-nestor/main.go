// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-nestor is a stub: it knows its version and says what is still missing.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/nestor-dev/nestor/internal/version"
)

func main() {
	show := flag.Bool("version", false, "print the version and exit")
	flag.Parse()
	if *show {
		fmt.Println("kubectl-nestor", version.String())
		return
	}
	fmt.Fprintln(os.Stderr, "kubectl-nestor: this version has no commands yet, use kubectl; see CHANGELOG.md for what this version has.")
	os.Exit(1)
}
