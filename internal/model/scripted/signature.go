// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
)

// APIs sign or encrypt the reasoning that they need back. Here a signature depends only on what it signs: the server
// has no state, repeats its bytes, and still detects reasoning that was changed.

func digest(purpose, text string) []byte {
	sum := sha256.Sum256([]byte("scripted model|" + purpose + "|" + text))
	return sum[:]
}

func signature(purpose, text string) string {
	return base64.StdEncoding.EncodeToString(digest(purpose, text))
}

const sealedBytes = 16

// seal returns text with its signature, in an opaque form.
func seal(purpose, text string) string {
	return base64.StdEncoding.EncodeToString(append(digest(purpose, text)[:sealedBytes:sealedBytes], text...))
}

// unseal returns the text of seal, and whether it is unchanged.
func unseal(purpose, sealed string) (string, bool) {
	data, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil || len(data) < sealedBytes {
		return "", false
	}
	text := string(data[sealedBytes:])
	return text, bytes.Equal(digest(purpose, text)[:sealedBytes], data[:sealedBytes])
}
