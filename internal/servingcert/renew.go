// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"slices"
	"time"
)

type subject struct {
	names  []string
	policy Policy
}

func (s subject) newMaterial(now time.Time) (*material, error) {
	authority, err := newAuthority(s.names[0], s.policy.Authority.Valid, now)
	if err != nil {
		return nil, err
	}
	serving, err := authority.sign(s.names, s.policy.Serving.Valid, now)
	if err != nil {
		return nil, err
	}
	return &material{authority: authority, serving: serving}, nil
}

// rotateAuthority adds a new authority to the material. The one that signed the serving certificate stays in the bundle.
func (s subject) rotateAuthority(m *material, now time.Time) (*material, error) {
	authority, err := newAuthority(s.names[0], s.policy.Authority.Valid, now)
	if err != nil {
		return nil, err
	}
	next := &material{authority: authority, previous: m.authority.certificate, serving: m.serving}
	if m.previous != nil && m.signedBy(m.previous) {
		next.previous = m.previous
	}
	return next, nil
}

// renew returns the material to store instead of m, or m itself if nothing is due. published reports whether the API
// server trusts the current authority.
func (s subject) renew(m *material, now time.Time, published bool) (*material, error) {
	next := m
	if s.policy.Authority.due(m.authority.certificate, now) {
		succeeded, err := s.rotateAuthority(m, now)
		if err != nil {
			return nil, err
		}
		next, published = succeeded, false
	}
	if s.servingDue(next, now, published) {
		serving, err := next.authority.sign(s.names, s.policy.Serving.Valid, now)
		if err != nil {
			return nil, err
		}
		return &material{authority: next.authority, previous: next.previous, serving: serving}, nil
	}
	if next.previous != nil && next.signedBy(next.authority.certificate) && s.overlapPassed(issuedAt(next.serving.certificate), now) {
		return &material{authority: next.authority, serving: next.serving}, nil
	}
	return next, nil
}

func (s subject) servingDue(m *material, now time.Time, published bool) bool {
	serving := m.serving.certificate
	if !slices.Equal(serving.DNSNames, s.names) || now.After(serving.NotAfter) {
		return true // it is useless
	}
	if m.signedBy(m.authority.certificate) {
		return s.policy.Serving.due(serving, now)
	}
	return published && s.overlapPassed(issuedAt(m.authority.certificate), now)
}

// overlapPassed reports whether a change made at a time has reached all replicas and API servers.
func (s subject) overlapPassed(at, now time.Time) bool { return !now.Before(at.Add(s.policy.Overlap)) }
