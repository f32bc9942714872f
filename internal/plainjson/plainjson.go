// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package plainjson writes JSON without escaping <, > and &, which would make six bytes of one in everything that quotes HTML or code. One
// value always has the same form, so that texts which are kept once are found again.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal without the escapes.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes()[:b.Len()-1], nil // without the line's end
}
