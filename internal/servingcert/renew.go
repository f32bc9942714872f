// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"slices"
	"time"
)

// subject is whom certificates are for.
type subject struct {
	names  []string
	policy Policy
}

// start makes material from nothing.
func (s subject) start(now time.Time) (*material, error) {
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

// succeed gives the material a new authority. The one that vouches for the serving certificate stays in the bundle.
func (s subject) succeed(m *material, now time.Time) (*material, error) {
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

// renew returns what should be kept instead of m: m itself if nothing is due. published says whether the API server knows the
// authority that signs from now on.
func (s subject) renew(m *material, now time.Time, published bool) (*material, error) {
	next := m
	if s.policy.Authority.due(m.authority.certificate, now) {
		succeeded, err := s.succeed(m, now)
		if err != nil {
			return nil, err
		}
		next, published = succeeded, false
	}
	if s.mustSign(next, now, published) {
		serving, err := next.authority.sign(s.names, s.policy.Serving.Valid, now)
		if err != nil {
			return nil, err
		}
		return &material{authority: next.authority, previous: next.previous, serving: serving}, nil
	}
	if next.previous != nil && next.signedBy(next.authority.certificate) && s.settled(made(next.serving.certificate), now) {
		return &material{authority: next.authority, serving: next.serving}, nil
	}
	return next, nil
}

// mustSign says whether a new serving certificate is due.
func (s subject) mustSign(m *material, now time.Time, published bool) bool {
	serving := m.serving.certificate
	if !slices.Equal(serving.DNSNames, s.names) || now.After(serving.NotAfter) {
		return true // nobody can use it
	}
	if m.signedBy(m.authority.certificate) {
		return s.policy.Serving.due(serving, now)
	}
	return published && s.settled(made(m.authority.certificate), now)
}

// settled says whether everybody has heard of what was done at a time.
func (s subject) settled(at, now time.Time) bool { return !now.Before(at.Add(s.policy.Overlap)) }
