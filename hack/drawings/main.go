// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command drawings writes the pictures of the documentation: drawings DIRECTORY. The architecture is drawn by hand.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: drawings DIRECTORY")
		os.Exit(2)
	}
	for _, d := range []*drawing{turn(), approval(), stores(), network()} {
		if err := os.WriteFile(filepath.Join(os.Args[1], d.file), d.svg(), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "drawings:", err)
			os.Exit(1)
		}
	}
}
