// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"bytes"
	"encoding/json"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/internal/statusobject"
)

// maxSchemas bounds the schemas in a status together, in bytes, from the API.
const maxSchemas = 24576

// inputSchema returns the schema of a tool for a status, or nil if it does not fit or contains characters that could hide or reorder text.
func inputSchema(schema json.RawMessage, maxBytes int) *runtime.RawExtension {
	object := statusobject.Of(schema, maxBytes)
	invisible := func(r rune) bool { return unicode.Is(unicode.Cf, r) || !unicode.IsGraphic(r) }
	if object == nil || bytes.ContainsFunc(object.Raw, invisible) {
		return nil
	}
	return object
}
