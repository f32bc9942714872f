// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package plainjson encodes JSON without escaping <, > and &, which would take six bytes each in quoted HTML or code.
// The encoding is deterministic, so that equal values can be deduplicated.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal without HTML escapes.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes()[:b.Len()-1], nil // without the line break
}
