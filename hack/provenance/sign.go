// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	envelopeFile = "PROVENANCE.dsse.json"
	sumsFile     = "SHA256SUMS"
	payloadType  = "application/vnd.in-toto+json"
)

type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	Sig string `json:"sig"`
}

// sign signs the statement and the checksums of a directory.
func sign(dir, keyFile string) error {
	key, err := readKey(keyFile)
	if err != nil {
		return err
	}
	payload, err := os.ReadFile(filepath.Join(dir, statementFile))
	if err != nil {
		return fmt.Errorf("read the statement: %w", err)
	}
	sealed, err := signWith(key, preAuthEncoding(payload))
	if err != nil {
		return err
	}
	text, err := json.Marshal(envelope{
		PayloadType: payloadType, Payload: base64.StdEncoding.EncodeToString(payload), Signatures: []signature{{Sig: base64.StdEncoding.EncodeToString(sealed)}},
	})
	if err != nil {
		return fmt.Errorf("encode the envelope: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, envelopeFile), append(text, '\n'), 0o644); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return fmt.Errorf("read the checksums: %w", err)
	}
	signed, err := signWith(key, sums)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sumsFile+".sig"), []byte(base64.StdEncoding.EncodeToString(signed)+"\n"), 0o644)
}

// preAuthEncoding returns DSSE's pre-authentication encoding: the payload with its type and lengths.
func preAuthEncoding(payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// readKey reads a private key: PKCS #8 in PEM, ECDSA or Ed25519.
func readKey(file string) (crypto.Signer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("the signing key must be an unencrypted PKCS #8 private key in PEM: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	switch key := parsed.(type) {
	case *ecdsa.PrivateKey:
		return key, nil
	case ed25519.PrivateKey:
		return key, nil
	}
	return nil, fmt.Errorf("the signing key is a %T: use ECDSA or Ed25519", parsed)
}

func signWith(key crypto.Signer, message []byte) ([]byte, error) {
	if _, ok := key.(ed25519.PrivateKey); ok {
		return key.Sign(rand.Reader, message, crypto.Hash(0))
	}
	sum := sha256.Sum256(message)
	return key.Sign(rand.Reader, sum[:], crypto.SHA256)
}
