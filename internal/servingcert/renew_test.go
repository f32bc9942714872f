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
	// shortPolicy is a policy with the proportions of the default one, but short lifetimes.
	shortPolicy = Policy{
		Authority: Lifetime{Valid: 72 * time.Hour, RenewAfter: 48 * time.Hour},
		Serving:   Lifetime{Valid: 9 * time.Hour, RenewAfter: 6 * time.Hour},
		Overlap:   time.Hour,
	}
	testSubject = subject{names: []string{"nestor-history.nestor-system.svc"}, policy: shortPolicy}
)

// verify checks whether a client that trusts a bundle would accept the certificate at a time.
func verify(m *material, bundle []byte, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err := m.serving.certificate.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: now, DNSName: testSubject.names[0], KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}

// TestReplicasAreAlwaysTrusted simulates ten days. One replica syncs every ten minutes, the other every half
// hour, and the API server reads bundles ten minutes late. Clients must always be served a trusted certificate.
func TestReplicasAreAlwaysTrusted(t *testing.T) {
	current := must(t)(testSubject.newMaterial(start))
	served := []*material{current, current}
	published := current.bundle()
	authorities, certificates, overlapping := 0, 0, 0
	const steps = 10 * 24 * 6
	for step := range steps {
		now := start.Add(time.Duration(step) * 10 * time.Minute)
		next := must(t)(testSubject.renew(current, now, current.inBundle(published)))
		if !next.authority.certificate.Equal(current.authority.certificate) {
			authorities++
		}
		if !next.serving.certificate.Equal(current.serving.certificate) {
			certificates++
		}
		current = next
		known := published
		published = current.bundle()
		served[0] = current
		if step%3 == 0 {
			served[1] = current
		}
		if current.previous != nil {
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

// TestUnpublishedAuthoritySignsNothing: while the API server does not trust the new authority, nothing
// that it signed is served.
func TestUnpublishedAuthoritySignsNothing(t *testing.T) {
	old := must(t)(testSubject.newMaterial(start))
	m := old
	for now := start.Add(shortPolicy.Authority.RenewAfter - 2*time.Hour); now.Before(start.Add(shortPolicy.Authority.RenewAfter)); now = now.Add(time.Hour) {
		m = must(t)(testSubject.renew(m, now, true))
	}
	due := start.Add(shortPolicy.Authority.RenewAfter)
	m = must(t)(testSubject.renew(m, due, true))
	if m.previous == nil || !m.signedBy(m.previous) {
		t.Fatal("the new authority is already used")
	}
	for _, now := range []time.Time{due.Add(2 * shortPolicy.Overlap), due.Add(5 * time.Hour)} {
		m = must(t)(testSubject.renew(m, now, false))
		if err := verify(m, old.bundle(), now); err != nil {
			t.Fatalf("after %s: %v", now.Sub(due), err)
		}
	}
	published := must(t)(testSubject.renew(m, due.Add(6*time.Hour), true))
	if !published.signedBy(published.authority.certificate) {
		t.Error("a published authority is not used")
	}
	expired := must(t)(testSubject.renew(m, m.serving.certificate.NotAfter.Add(time.Second), false))
	if !expired.signedBy(expired.authority.certificate) {
		t.Error("an expired certificate is served, though there is an authority to sign another")
	}
}

func TestUselessCertificateIsReplaced(t *testing.T) {
	m := must(t)(testSubject.newMaterial(start))
	renamed := subject{names: []string{"history.elsewhere.svc"}, policy: shortPolicy}
	if next := must(t)(renamed.renew(m, start, true)); next.serving.certificate.VerifyHostname("history.elsewhere.svc") != nil {
		t.Error("the certificate is for another name")
	}
	// The operator was down for years.
	later := start.Add(3 * 365 * 24 * time.Hour)
	next := must(t)(testSubject.renew(m, later, true))
	if err := verify(next, next.bundle(), later); err != nil {
		t.Error(err)
	}
}

func TestRotationKeepsTheSigningAuthority(t *testing.T) {
	m := must(t)(testSubject.newMaterial(start))
	for range 3 {
		successor := must(t)(testSubject.rotateAuthority(m, start))
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
	m := must(t)(testSubject.rotateAuthority(must(t)(testSubject.newMaterial(start)), start))
	read, err := parse(m.encode())
	if err != nil {
		t.Fatal(err)
	}
	if !read.previous.Equal(m.previous) || !read.authority.certificate.Equal(m.authority.certificate) || !read.serving.certificate.Equal(m.serving.certificate) {
		t.Error("the certificates are others")
	}
	stranger := must(t)(testSubject.newMaterial(start)).encode()
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
	if p.Overlap < 10*syncPeriod {
		t.Errorf("replicas look every %s, which an overlap of %s does not cover", syncPeriod, p.Overlap)
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
