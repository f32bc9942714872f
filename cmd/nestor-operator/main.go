// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command nestor-operator is a stub: it knows its version and says what is still missing.
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
		fmt.Println("nestor-operator", version.String())
		return
	}
	fmt.Fprintln(os.Stderr, "nestor-operator: this version has no controllers yet; see CHANGELOG.md for what this version has.")
	os.Exit(1)
}
