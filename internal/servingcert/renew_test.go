// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

var (
	start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	// hasty is a policy with the proportions of the default one, but short lifetimes.
	hasty = Policy{
		Authority: Lifetime{Valid: 72 * time.Hour, RenewAfter: 48 * time.Hour},
		Serving:   Lifetime{Valid: 9 * time.Hour, RenewAfter: 6 * time.Hour},
		Overlap:   time.Hour,
	}
	someone = subject{names: []string{"nestor-history.nestor-system.svc"}, policy: hasty}
)

// verify checks whether a client that trusts a bundle would accept the certificate at a time.
func verify(m *material, bundle []byte, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err := m.serving.certificate.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: now, DNSName: someone.names[0], KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}

// TestEveryReplicaIsTrustedAtAllTimes simulates ten days. One replica syncs every ten minutes, the other every half
// hour, and the API server sees bundles ten minutes late. Clients must always be served a trusted certificate.
func TestEveryReplicaIsTrustedAtAllTimes(t *testing.T) {
	kept := must(t)(someone.start(start))
	served := []*material{kept, kept}
	published := kept.bundle()
	authorities, certificates, overlapping := 0, 0, 0
	const steps = 10 * 24 * 6
	for step := range steps {
		now := start.Add(time.Duration(step) * 10 * time.Minute)
		next := must(t)(someone.renew(kept, now, kept.vouchedFor(published)))
		if !next.authority.certificate.Equal(kept.authority.certificate) {
			authorities++
		}
		if !next.serving.certificate.Equal(kept.serving.certificate) {
			certificates++
		}
		kept = next
		known := published
		published = kept.bundle()
		served[0] = kept
		if step%3 == 0 {
			served[1] = kept
		}
		if kept.previous != nil {
			overlapping++
		}
		for _, m := range served {
			for _, bundle := range [][]byte{known, published} {
				if err := verify(m, bundle, now); err != nil {
					t.Fatalf("after %s: %v", now.Sub(start), err)
				}
			}
		}
	}
	// Ten days are five times two days, and forty times six hours.
	if authorities < 4 || certificates < 38 {
		t.Errorf("there were %d new authorities and %d new certificates", authorities, certificates)
	}
	// An old authority is trusted for a little over two hours of two days.
	if overlapping > steps/12 {
		t.Errorf("for %d of %d steps an old authority was trusted", overlapping, steps)
	}
}

// TestAnAuthorityThatCouldNotBePublishedSignsNothing: while the API server does not trust the new authority, nothing
// that it signed is served.
func TestAnAuthorityThatCouldNotBePublishedSignsNothing(t *testing.T) {
	old := must(t)(someone.start(start))
	m := old
	for now := start.Add(hasty.Authority.RenewAfter - 2*time.Hour); now.Before(start.Add(hasty.Authority.RenewAfter)); now = now.Add(time.Hour) {
		m = must(t)(someone.renew(m, now, true))
	}
	due := start.Add(hasty.Authority.RenewAfter)
	m = must(t)(someone.renew(m, due, true))
	if m.previous == nil || !m.signedBy(m.previous) {
		t.Fatal("the new authority is already used")
	}
	for _, now := range []time.Time{due.Add(2 * hasty.Overlap), due.Add(5 * time.Hour)} {
		m = must(t)(someone.renew(m, now, false))
		if err := verify(m, old.bundle(), now); err != nil {
			t.Fatalf("after %s: %v", now.Sub(due), err)
		}
	}
	published := must(t)(someone.renew(m, due.Add(6*time.Hour), true))
	if !published.signedBy(published.authority.certificate) {
		t.Error("a published authority is not used")
	}
	expired := must(t)(someone.renew(m, m.serving.certificate.NotAfter.Add(time.Second), false))
	if !expired.signedBy(expired.authority.certificate) {
		t.Error("an expired certificate is served, though there is an authority to sign another")
	}
}

func TestUselessCertificateIsReplacedAtOnce(t *testing.T) {
	m := must(t)(someone.start(start))
	renamed := subject{names: []string{"history.elsewhere.svc"}, policy: hasty}
	if next := must(t)(renamed.renew(m, start, true)); next.serving.certificate.VerifyHostname("history.elsewhere.svc") != nil {
		t.Error("the certificate is for another name")
	}
	// The operator was down for years.
	later := start.Add(3 * 365 * 24 * time.Hour)
	next := must(t)(someone.renew(m, later, true))
	if err := verify(next, next.bundle(), later); err != nil {
		t.Error(err)
	}
}

func TestRotationKeepsTheSigningAuthority(t *testing.T) {
	m := must(t)(someone.start(start))
	for range 3 {
		successor := must(t)(someone.succeed(m, start))
		if err := verify(successor, successor.bundle(), start); err != nil {
			t.Fatal(err)
		}
		m = successor
	}
	if n := bytes.Count(m.bundle(), []byte("BEGIN")); n != 2 {
		t.Errorf("after three successions the bundle has %d authorities, want 2", n)
	}
}

func TestMaterialRoundTrips(t *testing.T) {
	m := must(t)(someone.succeed(must(t)(someone.start(start)), start))
	read, err := parse(m.encode())
	if err != nil {
		t.Fatal(err)
	}
	if !read.previous.Equal(m.previous) || !read.authority.certificate.Equal(m.authority.certificate) || !read.serving.certificate.Equal(m.serving.certificate) {
		t.Error("the certificates are others")
	}
	stranger := must(t)(someone.start(start)).encode()
	for key := range stranger {
		mixed := m.encode()
		mixed[key] = stranger[key]
		if _, err := parse(mixed); err == nil {
			t.Errorf("a foreign %s is accepted", key)
		}
	}
}

func TestDefaultPolicyRenewsInTime(t *testing.T) {
	p := DefaultPolicy()
	for name, l := range map[string]Lifetime{"authority": p.Authority, "serving certificate": p.Serving} {
		if left := l.Valid - l.RenewAfter; left < l.Valid/3 || left < 24*p.Overlap {
			t.Errorf("the %s is renewed %s before its end", name, left)
		}
	}
	if p.Authority.Valid-p.Authority.RenewAfter < p.Serving.Valid {
		t.Error("an authority may end before what it has signed")
	}
	if p.Overlap < 10*period {
		t.Errorf("replicas look every %s, which an overlap of %s does not cover", period, p.Overlap)
	}
}

func must(t *testing.T) func(*material, error) *material {
	return func(m *material, err error) *material {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}
