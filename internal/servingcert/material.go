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

// Keys of the Secret that have no constant in the Kubernetes API.
const (
	authoritiesKey  = "ca.crt"
	authorityKeyKey = "ca.key"
)

type material struct {
	authority pair
	// previous signed the serving certificate, or did until recently; nil if authority is the only one.
	previous *x509.Certificate
	serving  pair
}

func (m *material) signedBy(authority *x509.Certificate) bool {
	return m.serving.certificate.CheckSignatureFrom(authority) == nil
}

// bundle returns the authorities of the current and the next serving certificate.
func (m *material) bundle() []byte {
	bundle := certificatePEM(m.authority.certificate)
	if m.previous != nil {
		bundle = append(bundle, certificatePEM(m.previous)...)
	}
	return bundle
}

// inBundle reports whether a bundle contains the authority that signs new certificates.
func (m *material) inBundle(bundle []byte) bool {
	return bytes.Contains(bundle, certificatePEM(m.authority.certificate))
}

// encode returns the Secret's data.
func (m *material) encode() map[string][]byte {
	return map[string][]byte{
		authoritiesKey: m.bundle(), authorityKeyKey: m.authority.keyPEM,
		corev1.TLSCertKey: certificatePEM(m.serving.certificate), corev1.TLSPrivateKeyKey: m.serving.keyPEM,
	}
}

// parse decodes a Secret's data. It rejects inconsistent material, but does not check expiry.
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
