// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/pem"
	"strings"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificatesPath is where Go, OpenSSL and GnuTLS look for the authorities to trust.
const certificatesPath = "etc/ssl/certs/ca-certificates.crt"

// certificates are Mozilla's authorities as the Go project publishes them: pinned by go.sum, so the same on every machine.
// Those that are trusted only under conditions are left out: a file of certificates cannot say them.
func certificates() file {
	var text strings.Builder
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
	}
	return file{content: text.String(), mode: 0o644}
}
