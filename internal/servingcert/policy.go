// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto/x509"
	"time"
)

// Policy says how long certificates last and when they are renewed.
type Policy struct {
	Authority, Serving Lifetime
	// Overlap is how long the bundle and the certificates of an old authority are still good for after a new one has come: long
	// beside the time in which replicas read the Secret and API servers learn of a bundle.
	Overlap time.Duration
}

// Lifetime is how long a certificate is valid, and after what time another takes its place.
type Lifetime struct {
	Valid, RenewAfter time.Duration
}

const day = 24 * time.Hour

// DefaultPolicy renews a certificate when a third of its time is left: a month for the serving certificate, eight for the authority.
func DefaultPolicy() Policy {
	return Policy{
		Authority: Lifetime{Valid: 720 * day, RenewAfter: 480 * day},
		Serving:   Lifetime{Valid: 90 * day, RenewAfter: 60 * day},
		Overlap:   time.Hour,
	}
}

// backdate is how far the clocks of API servers may be behind.
const backdate = 5 * time.Minute

// made is when a certificate was made.
func made(certificate *x509.Certificate) time.Time { return certificate.NotBefore.Add(backdate) }

// due says whether it is time for another.
func (l Lifetime) due(certificate *x509.Certificate, now time.Time) bool {
	return !now.Before(made(certificate).Add(l.RenewAfter))
}
