// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// conditionMessageLength is the bound that a rule on every list of conditions sets; the schema of metav1.Condition
// allows 32768.
const conditionMessageLength = 1024

// filler generates the largest value that a schema allows, to find fields without a bound. Text consists of its
// letter unless the schema requires plain ones.
type filler struct {
	letter string
	// maxData is the bound of a result's data, in bytes of JSON.
	maxData int
}

// anyObjects bound the objects with any fields, by the end of their path, in bytes of JSON. A schema cannot bound them; the operator does.
func (f filler) anyObjects() map[string]int {
	return map[string]int{
		".result.data":         f.maxData,
		".arguments":           256,
		".tools[].inputSchema": 24 * kibibyte / 128, // 24 KiB for all tools together
	}
}

// fill returns the largest value for a schema; place is its path, for errors.
func (f filler) fill(place string, schema *apiextensionsv1.JSONSchemaProps) (any, error) {
	switch schema.Type {
	case "object":
		return f.object(place, schema)
	case "array":
		return f.array(place, schema)
	case "string":
		return f.text(place, schema)
	case "integer":
		if schema.Format == "int32" {
			return int64(math.MaxInt32), nil
		}
		return int64(math.MaxInt64), nil
	case "boolean":
		return false, nil // longer than true
	}
	return nil, fmt.Errorf("%s has type %q, which nothing bounds", place, schema.Type)
}

func (f filler) object(place string, schema *apiextensionsv1.JSONSchemaProps) (any, error) {
	for path, bytes := range f.anyObjects() {
		if strings.HasSuffix(place, path) {
			return map[string]any{"a": strings.Repeat("a", bytes-len(`{"a":""}`))}, nil
		}
	}
	if schema.AdditionalProperties != nil || schema.XPreserveUnknownFields != nil {
		return nil, fmt.Errorf("%s may have any fields: nothing bounds them", place)
	}
	object := map[string]any{}
	for name, property := range schema.Properties {
		value, err := f.fill(place+"."+name, &property)
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return object, nil
}

func (f filler) array(place string, schema *apiextensionsv1.JSONSchemaProps) (any, error) {
	if schema.MaxItems == nil {
		return nil, fmt.Errorf("%s has no maxItems", place)
	}
	list := make([]any, *schema.MaxItems)
	for i := range list {
		item, err := f.fill(place+"[]", schema.Items.Schema)
		if err != nil {
			return nil, err
		}
		for _, key := range schema.XListMapKeys {
			item.(map[string]any)[key] = distinct(item.(map[string]any)[key], i)
		}
		list[i] = item
	}
	return list, nil
}

func (f filler) text(place string, schema *apiextensionsv1.JSONSchemaProps) (any, error) {
	if len(schema.Enum) > 0 {
		return longest(schema.Enum), nil
	}
	switch schema.Format {
	case "date-time":
		return "2026-11-15T00:00:00Z", nil
	case "byte":
		f.letter = "A" // base64
	}
	if schema.MaxLength == nil {
		return nil, fmt.Errorf("%s has no maxLength", place)
	}
	length := int(*schema.MaxLength)
	if strings.HasSuffix(place, ".conditions[].message") {
		length = conditionMessageLength
	}
	for _, letter := range []string{f.letter, "a", "A"} {
		text := strings.Repeat(letter, length)
		// A rule on text restricts its letters, as in names; a lowercase one satisfies all of them.
		plain := len(schema.XValidations) == 0 || letter == "a"
		if plain && regexp.MustCompile(schema.Pattern).MatchString(text) {
			return text, nil
		}
	}
	return nil, fmt.Errorf("%s: no text of %d letters matches %s", place, length, schema.Pattern)
}

func longest(values []apiextensionsv1.JSON) string {
	var longest string
	for _, value := range values {
		text := strings.Trim(string(value.Raw), "\"")
		if len(text) > len(longest) {
			longest = text
		}
	}
	return longest
}

// distinct makes the key of an item unique in its list without shortening it.
func distinct(key any, index int) any {
	switch key := key.(type) {
	case int64:
		return key - int64(index)
	case string:
		number := fmt.Sprintf("%03d", index)
		letters := []rune(key)
		return string(letters[:len(letters)-len(number)]) + number
	}
	return key
}
