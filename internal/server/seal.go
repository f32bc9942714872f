// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// minSessionKey is the minimum length of a session key: 32 random bytes in base64 have 44 characters.
const minSessionKey = 32

// errUnsealed means that a value was changed, was sealed for another purpose, or was sealed with a key that is not in the file.
var errUnsealed = errors.New("the value was not sealed with one of the session keys")

// sessionKeys seals what replicas exchange through the browser. The file has one key per line: the first one seals, all of them open. It is
// read on each use, so that a rotated Secret takes effect without a restart.
type sessionKeys string

func (k sessionKeys) read() ([]string, error) {
	text, err := os.ReadFile(string(k))
	if err != nil {
		return nil, fmt.Errorf("read the session keys: %w", err)
	}
	keys := strings.Fields(string(text))
	for _, key := range keys {
		if len(key) < minSessionKey {
			return nil, fmt.Errorf("%s has a session key of fewer than %d characters: create one with openssl rand -base64 32", string(k), minSessionKey)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s contains no session key: create one with openssl rand -base64 32", string(k))
	}
	return keys, nil
}

// seal returns a value that only open can read, for the same purpose.
func (k sessionKeys) seal(purpose string, value any) (string, error) {
	keys, err := k.read()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode the value to seal: %w", err)
	}
	aead, err := newAEAD(keys[0], purpose)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, text, nil)), nil
}

func (k sessionKeys) open(purpose, sealed string, value any) error {
	keys, err := k.read()
	if err != nil {
		return err
	}
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return errUnsealed
	}
	for _, key := range keys {
		aead, err := newAEAD(key, purpose)
		if err != nil {
			return err
		}
		if text, err := aead.Open(nil, nil, data, nil); err == nil {
			return json.Unmarshal(text, value)
		}
	}
	return errUnsealed
}

// newAEAD derives a key for each purpose, so that one cookie cannot be used as another.
func newAEAD(key, purpose string) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, []byte(key), nil, "nestor web "+purpose, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the sealing key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("use the sealing key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("use the sealing key: %w", err)
	}
	return aead, nil
}
