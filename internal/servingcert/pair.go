// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"time"
)

type pair struct {
	certificate *x509.Certificate
	key         crypto.Signer
	keyPEM      []byte
}

func newAuthority(name string, valid time.Duration, now time.Time) (pair, error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: name + " authority"},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(valid),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return issue(template, nil)
}

// sign creates a serving certificate, which does not outlive its authority.
func (authority pair) sign(names []string, valid time.Duration, now time.Time) (pair, error) {
	until := now.Add(valid)
	if end := authority.certificate.NotAfter; until.After(end) {
		until = end
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: now.Add(-backdate), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	return issue(template, &authority)
}

// issue creates a key and its certificate, signed by an authority or self-signed.
func issue(template *x509.Certificate, authority *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("generate a key: %w", err)
	}
	signer := pair{certificate: template, key: key}
	if authority != nil {
		signer = *authority
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.certificate, key.Public(), signer.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign a certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return pair{}, fmt.Errorf("parse the new certificate: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, fmt.Errorf("encode a key: %w", err)
	}
	return pair{certificate: certificate, key: key, keyPEM: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})}, nil
}

// parsePair parses a pair and checks that key and certificate match. More certificates may follow the first one.
func parsePair(certificatePEM, keyPEM []byte) (pair, error) {
	read, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return pair{}, err
	}
	key, ok := read.PrivateKey.(crypto.Signer)
	if !ok {
		return pair{}, fmt.Errorf("a key of type %T cannot sign", read.PrivateKey)
	}
	return pair{certificate: read.Leaf, key: key, keyPEM: keyPEM}, nil
}

func certificatePEM(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}
