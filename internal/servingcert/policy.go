// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto/x509"
	"time"
)

// Policy defines how long certificates are valid and when they are renewed.
type Policy struct {
	Authority, Serving Lifetime
	// Overlap is how long the bundle and the certificates of an old authority remain valid after a new one was added.
	// It must be long compared with the time that replicas and API servers need to read changes.
	Overlap time.Duration
}

// Lifetime is how long a certificate is valid, and when it is renewed.
type Lifetime struct {
	Valid, RenewAfter time.Duration
}

const day = 24 * time.Hour

// DefaultPolicy renews a certificate when a third of its lifetime is left: a month for the serving certificate, eight
// for the authority.
func DefaultPolicy() Policy {
	return Policy{
		Authority: Lifetime{Valid: 720 * day, RenewAfter: 480 * day},
		Serving:   Lifetime{Valid: 90 * day, RenewAfter: 60 * day},
		Overlap:   time.Hour,
	}
}

// backdate is the tolerated clock skew of API servers.
const backdate = 5 * time.Minute

func issuedAt(certificate *x509.Certificate) time.Time { return certificate.NotBefore.Add(backdate) }

// due reports whether a certificate must be renewed.
func (l Lifetime) due(certificate *x509.Certificate, now time.Time) bool {
	return !now.Before(issuedAt(certificate).Add(l.RenewAfter))
}
