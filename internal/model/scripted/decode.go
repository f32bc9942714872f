// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// decodeStrict decodes JSON and returns the name of the first field that is unknown, or "". The rest is decoded anyway.
func decodeStrict(data []byte, into any) (unknown string, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err = dec.Decode(into)
	if err == nil {
		if dec.More() {
			return "", errors.New("there is text after the object")
		}
		return "", nil
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return strings.Trim(field, `"`), json.Unmarshal(data, into)
	}
	return "", err
}

// object has the fields of a JSON object, for those that are allowed only with a certain type.
type object map[string]json.RawMessage

// unknown returns the first field that is not allowed, or "".
func (o object) unknown(allowed ...string) string {
	var found []string
	for name := range o {
		if !slices.Contains(allowed, name) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

// isObject reports whether JSON is an object.
func isObject(data json.RawMessage) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}
