// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command clidocs writes the reference of kubectl nestor, generated from the commands, to the given file.
package main

import (
	"fmt"
	"io"
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/nestor-dev/nestor/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: clidocs FILE")
		os.Exit(2)
	}
	root := cli.NewCommand(genericiooptions.IOStreams{In: os.Stdin, Out: io.Discard, ErrOut: io.Discard}, nil)
	if err := os.WriteFile(os.Args[1], []byte(reference(root)), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "clidocs:", err)
		os.Exit(1)
	}
}
