// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"crypto/aes"
	"crypto/cipher"
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

func (k *Keys) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k.sealing)
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
	var bound []byte
	for _, part := range []string{namespace, task, c.ID, c.URL} {
		bound = fmt.Appendf(bound, "%d:%s", len(part), part)
	}
	return bound
}
