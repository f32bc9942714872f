// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package statusobject converts JSON text of models and tool servers to objects for a status.
package statusobject

import (
	stdjson "encoding/json"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/json"
)

// Of returns the object in a JSON text. It returns nil if a status cannot contain it, because it is not a valid
// object, has duplicate members, or takes more than maxBytes in the form that the API server stores.
func Of(text []byte, maxBytes int) *runtime.RawExtension {
	if !utf8.Valid(text) || len(text) > 4*maxBytes { // escapes and white space take more bytes in the text, but megabytes are not decoded
		return nil
	}
	var object map[string]any
	duplicates, err := json.UnmarshalStrict(text, &object)
	if err != nil || len(duplicates) > 0 || object == nil {
		return nil
	}
	// The API server sends the same bytes back; otherwise a status would differ from the stored one, and be written at
	// every reconcile.
	raw, err := stdjson.Marshal(object)
	if err != nil || len(raw) > maxBytes {
		return nil
	}
	return &runtime.RawExtension{Raw: raw}
}
