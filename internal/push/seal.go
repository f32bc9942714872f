// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrUnsealed means that secrets cannot be read: they belong to another task, configuration or URL, or the keys were
// replaced.
var ErrUnsealed = errors.New("the token or credentials cannot be read: register the push notification configuration again")

// Seal returns a configuration with secrets that only [Keys.Open] can read, for the same task, ID and URL.
func (k *Keys) Seal(namespace, task string, c Config, secrets Secrets) (Config, error) {
	if err := secrets.check(); err != nil {
		return Config{}, err
	}
	if secrets == (Secrets{}) {
		return c, nil
	}
	text, err := json.Marshal(secrets)
	if err != nil {
		return Config{}, fmt.Errorf("encode the secrets: %w", err)
	}
	aead, err := k.aead()
	if err != nil {
		return Config{}, err
	}
	c.Sealed = aead.Seal(nil, nil, text, boundTo(namespace, task, c))
	return c, nil
}

func (k *Keys) Open(namespace, task string, c Config) (Secrets, error) {
	if len(c.Sealed) == 0 {
		return Secrets{}, nil
	}
	aead, err := k.aead()
	if err != nil {
		return Secrets{}, err
	}
	text, err := aead.Open(nil, nil, c.Sealed, boundTo(namespace, task, c))
	var secrets Secrets
	if err != nil || json.Unmarshal(text, &secrets) != nil || secrets.check() != nil {
		return Secrets{}, ErrUnsealed
	}
	return secrets, nil
}

// SealFor seals a value for another purpose than a configuration. Only [Keys.OpenFor] with the same purpose and binding
// can read it.
func (k *Keys) SealFor(purpose string, text []byte, binding ...string) ([]byte, error) {
	aead, err := k.aeadFor(purpose)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, text, lengthPrefixed(binding)), nil
}

func (k *Keys) OpenFor(purpose string, sealed []byte, binding ...string) ([]byte, error) {
	aead, err := k.aeadFor(purpose)
	if err != nil {
		return nil, err
	}
	text, err := aead.Open(nil, nil, sealed, lengthPrefixed(binding))
	if err != nil {
		return nil, ErrUnsealed
	}
	return text, nil
}

func (k *Keys) aead() (cipher.AEAD, error) { return newAEAD(k.sealing) }

// aeadFor derives a key for each purpose, so that a value cannot be used for another one.
func (k *Keys) aeadFor(purpose string) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, k.sealing, nil, "nestor "+purpose, sealingBytes)
	if err != nil {
		return nil, fmt.Errorf("derive the sealing key: %w", err)
	}
	return newAEAD(derived)
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("use the sealing key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("use the sealing key: %w", err)
	}
	return aead, nil
}

// boundTo returns the additional data of sealed secrets. A copy in another task, or with another URL, cannot be
// opened.
func boundTo(namespace, task string, c Config) []byte {
	return lengthPrefixed([]string{namespace, task, c.ID, c.URL})
}

func lengthPrefixed(parts []string) []byte {
	var bound []byte
	for _, part := range parts {
		bound = fmt.Appendf(bound, "%d:%s", len(part), part)
	}
	return bound
}
