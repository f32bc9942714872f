// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// release creates a directory with two files, their checksums and a statement.
func release(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.tar.gz": "a", "b.tgz": "b", sumsFile: "sums of both\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run([]string{"state", dir, "v1.2.3", "0123abcd"}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestStatementNamesFilesAndCommit(t *testing.T) {
	dir := release(t)
	var s statement
	if err := json.Unmarshal(read(t, dir, statementFile), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Subject) != 2 || s.Subject[0].Name != "a.tar.gz" || s.Subject[0].Digest["sha256"] != "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" {
		t.Errorf("subjects are %+v", s.Subject)
	}
	if d := s.Predicate.BuildDefinition; d.Dependencies[0].Digest["gitCommit"] != "0123abcd" || d.ExternalParameters["version"] != "v1.2.3" {
		t.Errorf("dependencies are %+v", d)
	}
	if s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Errorf("type %s, predicate type %s", s.Type, s.PredicateType)
	}
}

func TestSignaturesVerify(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		key    crypto.PrivateKey
		verify func(message, sig []byte) bool
	}{
		"ECDSA": {curve, func(message, sig []byte) bool {
			sum := sha256.Sum256(message)
			return ecdsa.VerifyASN1(&curve.PublicKey, sum[:], sig)
		}},
		"Ed25519": {edwards, func(message, sig []byte) bool { return ed25519.Verify(public, message, sig) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := release(t)
			if err := run([]string{"sign", dir, writeKey(t, c.key)}); err != nil {
				t.Fatal(err)
			}
			var sealed envelope
			if err := json.Unmarshal(read(t, dir, envelopeFile), &sealed); err != nil {
				t.Fatal(err)
			}
			payload := decode(t, sealed.Payload)
			if string(payload) != string(read(t, dir, statementFile)) || sealed.PayloadType != payloadType {
				t.Error("the envelope does not contain the statement")
			}
			sig := decode(t, sealed.Signatures[0].Sig)
			if !c.verify(preAuthEncoding(payload), sig) {
				t.Error("the signature of the statement does not verify")
			}
			if c.verify(preAuthEncoding(append(payload, ' ')), sig) || c.verify(payload, sig) {
				t.Error("the signature verifies for another statement")
			}
			sums := read(t, dir, sumsFile)
			sig = decode(t, strings.TrimSpace(string(read(t, dir, sumsFile+".sig"))))
			if !c.verify(sums, sig) || c.verify(append(sums, '!'), sig) {
				t.Error("the signature of the checksums does not verify, or verifies for others")
			}
		})
	}
}

func TestOtherKeysAreRejected(t *testing.T) {
	dir := release(t)
	bad := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(bad, []byte("-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"sign", dir, bad}); err == nil || !strings.Contains(err.Error(), "PKCS #8") {
		t.Errorf("got %v", err)
	}
}

func decode(t *testing.T, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeKey(t *testing.T, key crypto.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
