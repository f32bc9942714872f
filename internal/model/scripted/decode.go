// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
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

// decodeRequest decodes and, in strict mode, validates a request. syntax and unknown are the API's errors for a body
// that is not JSON and for an unknown field.
func decodeRequest(body []byte, strict bool, req request, syntax string, unknown func(field string) *apiError) (encoder, error) {
	field, err := decodeStrict(body, req)
	switch {
	case err != nil:
		return nil, badRequest("", syntax, err)
	case !strict:
		return req, nil
	case field != "":
		return nil, unknown(field)
	}
	return req, req.validate()
}

type request interface {
	encoder
	validate() error
}

// firstError makes the checks in order, up to the first one that fails.
func firstError(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// decodeFields decodes an object and keeps its fields too, for strict mode.
func decodeFields(data []byte, into any, fields *object) error {
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	return json.Unmarshal(data, fields)
}

// object has the fields of a JSON object, for those that are allowed only with a certain type.
type object map[string]json.RawMessage

// unknown returns the first field that is not allowed, or "".
func (o object) unknown(allowed ...string) string {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(allowed, name) {
			return name
		}
	}
	return ""
}

func isObject(data json.RawMessage) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}
