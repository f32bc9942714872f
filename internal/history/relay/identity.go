// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/replicas"
)

// errNotAReplica is the error of a TLS handshake with a peer that is not the expected replica, or not a live one.
var errNotAReplica = errors.New("the key is not that of a live replica")

// Identity is the key pair of a replica. It exists in memory only, from the start of the process to its end.
type Identity struct {
	certificate tls.Certificate
	fingerprint string
}

func NewIdentity() (*Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key of this replica: %w", err)
	}
	// Peers compare only the public key, but TLS needs a certificate around it.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nestor-replica"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create the certificate of this replica: %w", err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse the certificate of this replica: %w", err)
	}
	return &Identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: parsed}, fingerprint(parsed)}, nil
}

// Fingerprint returns the SHA-256 of the public key in hexadecimal, which the replica publishes.
func (i *Identity) Fingerprint() string { return i.fingerprint }

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// peer returns the fingerprint of the key that the other side of a connection has proved to own; empty if none.
func peer(state *tls.ConnectionState) string {
	if state == nil || len(state.PeerCertificates) == 0 {
		return ""
	}
	return fingerprint(state.PeerCertificates[0])
}

// serverConfig returns the TLS configuration of a server for the live replicas.
func (i *Identity) serverConfig(members Replicas) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{i.certificate}, SessionTicketsDisabled: true,
		ClientAuth: tls.RequireAnyClientCert,
		VerifyConnection: func(state tls.ConnectionState) error {
			if !isMember(members, peer(&state)) {
				return errNotAReplica
			}
			return nil
		},
	}
}

// clientConfig returns the TLS configuration of a connection to the replica with this fingerprint.
func (i *Identity) clientConfig(expected string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{i.certificate},
		InsecureSkipVerify: true, // there is no authority and no name: VerifyConnection compares the key
		VerifyConnection: func(state tls.ConnectionState) error {
			if expected == "" || peer(&state) != expected {
				return errNotAReplica
			}
			return nil
		},
	}
}

func isMember(members Replicas, fingerprint string) bool {
	return fingerprint != "" && slices.ContainsFunc(members.Members(), func(m replicas.Member) bool { return m.Fingerprint == fingerprint })
}
