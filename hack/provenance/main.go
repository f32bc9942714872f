// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command provenance writes and signs the provenance of a release's files.
//
//	provenance state DIR VERSION COMMIT   # writes DIR/PROVENANCE.json
//	provenance sign DIR KEY               # writes DIR/PROVENANCE.dsse.json and DIR/SHA256SUMS.sig with the private key in the file KEY
//
// The statement is an in-toto statement with SLSA provenance, the envelope is DSSE, and the signature of SHA256SUMS
// is base64: cosign verifies both with the public key (verify-blob-attestation and verify-blob), and OpenSSL the
// latter.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "provenance:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "state":
		return writeStatement(args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "sign":
		return sign(args[1], args[2])
	}
	return errors.New("usage: provenance state DIR VERSION COMMIT, or provenance sign DIR KEY")
}
