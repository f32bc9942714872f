// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"fmt"
	"regexp/syntax"
	"strings"
)

const (
	// maxOutputSchema bounds the schema of a structured result, in bytes, because every model call contains it.
	maxOutputSchema = 16 << 10
	// dataPointer is the place of the schema in the parameters of submit_result.
	dataPointer = "#/properties/data"
)

// OutputSchema checks the schema of a structured result and returns it as a property of submit_result's parameters:
// its references begin at the root of the parameters.
func OutputSchema(source json.RawMessage) (json.RawMessage, error) {
	if len(source) > maxOutputSchema {
		return nil, fmt.Errorf("it has %d bytes, and may have at most %d", len(source), maxOutputSchema)
	}
	// Providers accept neither $id, which would make the property a resource of its own, nor $schema.
	document, err := decodeStrict(source)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if object, ok := document.(map[string]any); ok {
		delete(object, "$id")
		delete(object, "$schema")
	}
	plain, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	_, normal, err := compileSchema(plain)
	if err != nil {
		return nil, err
	}
	moved, err := decodeStrict(normal)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if err := moveReferences(moved); err != nil {
		return nil, err
	}
	out, err := json.Marshal(moved)
	if err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	// The schema must mean the same in its place.
	parameters := fmt.Sprintf(`{"type":"object","properties":{"data":%s}}`, out)
	if _, _, err := compileSchema(json.RawMessage(parameters)); err != nil {
		return nil, err
	}
	return out, nil
}

// moveReferences changes a schema's references from its root to the data property. Its errors are those of
// checkPattern.
func moveReferences(schema any) error {
	switch schema := schema.(type) {
	case []any:
		for _, element := range schema {
			if err := moveReferences(element); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, value := range schema {
			moved, err := moveKeyword(key, value)
			if err != nil {
				return err
			}
			schema[key] = moved
		}
	}
	return nil
}

func moveKeyword(key string, value any) (any, error) {
	switch key {
	case "const", "enum", "default", "examples", "example": // these are data, not schemas
		return value, nil
	case "$ref", "$dynamicRef":
		if text, ok := value.(string); ok && (text == "#" || strings.HasPrefix(text, "#/")) {
			return dataPointer + strings.TrimPrefix(text, "#"), nil
		}
		return value, nil
	case "pattern":
		if text, ok := value.(string); ok {
			return value, checkPattern(text)
		}
		return value, nil
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas": // schemas by name
		named, _ := value.(map[string]any)
		for name, schema := range named {
			if key == "patternProperties" {
				if err := checkPattern(name); err != nil {
					return nil, err
				}
			}
			if err := moveReferences(schema); err != nil {
				return nil, err
			}
		}
		return value, nil
	}
	return value, moveReferences(value)
}

// checkPattern returns an error for a pattern that Go does not support. In the schemas of tools such a pattern is
// ignored, but a structured result is for programs, so it must be checked.
func checkPattern(pattern string) error {
	if _, err := patternSize(pattern); err != nil {
		return err
	}
	if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
		return fmt.Errorf("the pattern %q cannot be checked, only the syntax RE2 is supported: %w", pattern, err)
	}
	return nil
}
