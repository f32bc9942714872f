// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// tokenLifetime is how long a receiver may accept a signed notification.
const tokenLifetime = 5 * time.Minute

// Claims are the claims of the JSON Web Token of a notification.
type Claims struct {
	Issuer   string `json:"iss"`
	Audience string `json:"aud"`
	IssuedAt int64  `json:"iat"`
	Expires  int64  `json:"exp"`
	ID       string `json:"jti"`
	// Namespace and Task name the AgentTask.
	Namespace string `json:"namespace"`
	Task      string `json:"task_id"`
	// Body is the SHA-256 of the request's body in hexadecimal.
	Body string `json:"request_body_sha256"`
}

// Sign returns a JSON Web Token, signed with ES256, for a notification about a task. audience is the host of the
// receiver.
func (k *Keys) Sign(issuer, audience, namespace, task string, body []byte, now time.Time) (string, error) {
	digest := sha256.Sum256(body)
	header, err := json.Marshal(map[string]string{"alg": "ES256", "typ": "JWT", "kid": k.id()})
	if err != nil {
		return "", fmt.Errorf("encode a token: %w", err)
	}
	claims, err := json.Marshal(Claims{
		Issuer: issuer, Audience: audience, IssuedAt: now.Unix(), Expires: now.Add(tokenLifetime).Unix(), ID: rand.Text(),
		Namespace: namespace, Task: task, Body: hex.EncodeToString(digest[:]),
	})
	if err != nil {
		return "", fmt.Errorf("encode a token: %w", err)
	}
	signed := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, k.signing, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	var signature [64]byte // RFC 7518, section 3.4: both numbers in 32 bytes
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature[:]), nil
}

// point returns the public key in the uncompressed form: 4, x, y.
func (k *Keys) point() []byte {
	point, err := k.signing.PublicKey.Bytes()
	if err != nil {
		return make([]byte, 65) // impossible: the curve was checked
	}
	return point
}

func (k *Keys) id() string {
	sum := sha256.Sum256(k.point())
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// JWK is a public key of a JSON Web Key Set.
type JWK struct {
	Type      string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	Y         string `json:"y"`
	ID        string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

type JWKS struct {
	Keys []JWK `json:"keys"`
}

// Public returns the public keys with which receivers verify notifications.
func (k *Keys) Public() JWKS {
	point := k.point()
	return JWKS{Keys: []JWK{{
		Type: "EC", Curve: "P-256", X: base64.RawURLEncoding.EncodeToString(point[1:33]), Y: base64.RawURLEncoding.EncodeToString(point[33:]),
		ID: k.id(), Use: "sig", Algorithm: "ES256",
	}}}
}
