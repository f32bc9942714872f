// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
)

// The keys of the Secret that have no name in Kubernetes' API.
const (
	authoritiesKey  = "ca.crt"
	authorityKeyKey = "ca.key"
)

// material is all that the Secret holds.
type material struct {
	// authority signs from now on.
	authority pair
	// previous has signed the serving certificate, or did until lately; nil if authority is the only one that counts.
	previous *x509.Certificate
	serving  pair
}

// signedBy says whether the serving certificate is an authority's.
func (m *material) signedBy(authority *x509.Certificate) bool {
	return m.serving.certificate.CheckSignatureFrom(authority) == nil
}

// bundle is what vouches for the serving certificate, and for the one that will follow.
func (m *material) bundle() []byte {
	bundle := certificatePEM(m.authority.certificate)
	if m.previous != nil {
		bundle = append(bundle, certificatePEM(m.previous)...)
	}
	return bundle
}

// vouchedFor says whether a bundle has the authority that signs from now on.
func (m *material) vouchedFor(bundle []byte) bool {
	return bytes.Contains(bundle, certificatePEM(m.authority.certificate))
}

// encode returns the Secret's data.
func (m *material) encode() map[string][]byte {
	return map[string][]byte{
		authoritiesKey: m.bundle(), authorityKeyKey: m.authority.keyPEM,
		corev1.TLSCertKey: certificatePEM(m.serving.certificate), corev1.TLSPrivateKeyKey: m.serving.keyPEM,
	}
}

// parse reads a Secret's data. It refuses what would not hold together when it is served; what is too old is not its business.
func parse(data map[string][]byte) (*material, error) {
	authority, err := parsePair(data[authoritiesKey], data[authorityKeyKey])
	if err != nil {
		return nil, fmt.Errorf("read %s and %s: %w", authoritiesKey, authorityKeyKey, err)
	}
	serving, err := parsePair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("read %s and %s: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
	}
	authorities, err := certutil.ParseCertsPEM(data[authoritiesKey])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", authoritiesKey, err)
	}
	m := &material{authority: authority, serving: serving}
	if len(authorities) > 1 {
		m.previous = authorities[1]
	}
	if !m.signedBy(authority.certificate) && (m.previous == nil || !m.signedBy(m.previous)) {
		return nil, errors.New("no authority in " + authoritiesKey + " has signed " + corev1.TLSCertKey)
	}
	return m, nil
}
