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

// certificates returns Mozilla's authorities as published by the Go project: pinned by go.sum, so identical on every
// machine. Those that are trusted only conditionally are omitted, because a certificate file cannot express
// conditions.
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
