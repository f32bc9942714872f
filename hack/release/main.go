// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command release writes the files of a release that refer to others by their digests; build.sh runs it. DIR is the
// directory of the release, where the images and their bills of materials are.
//
//	release pin DIR VERSION TREE         # writes the digests of the images into the charts and manifests below TREE
//	release images DIR VERSION           # writes DIR/images.txt, and DIR/values-fips.yaml if there are FIPS images
//	release krew DIR VERSION TEMPLATE    # writes DIR/krew.yaml with the checksums of the plugin's archives
//	release olm DIR VERSION TREE         # writes an OLM bundle below DIR/olm from DIR/install.yaml and the chart below TREE
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "pin":
		return pin(args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "images":
		return writeImages(args[1], args[2])
	case len(args) == 4 && args[0] == "krew":
		return writeKrew(args[1], args[2], args[3])
	case len(args) == 4 && args[0] == "olm":
		return writeOLM(args[1], args[2], args[3])
	}
	return errors.New("usage: release pin DIR VERSION TREE, release images DIR VERSION, release krew DIR VERSION TEMPLATE, or release olm DIR VERSION TREE")
}
