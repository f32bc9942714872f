// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package closedschema checks that a JSON schema leaves no room for an instruction: its values have a bounded number of bits, and no text
// but that of the schema.
package closedschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
)

// MaxBits bounds the information in a value.
const MaxBits = 64

const (
	maxFields  = 32
	maxMembers = 64
)

// identifier is what names of properties and members of enums look like: too short, and without spaces, for an instruction.
var identifier = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$`)

// Schema is a closed schema: an object whose properties are booleans, enums of short identifiers and bounded integers.
type Schema struct {
	fields map[string]field
}

// field is a property. It has members, or is an integer or a boolean.
type field struct {
	required         bool
	members          []string
	integer          bool
	minimum, maximum int64
}

// keywords are the keywords of one schema. Any other keyword is refused: it could allow more values than are counted.
type keywords struct {
	Type        string `json:"type"`
	Title       any    `json:"title"`
	Description any    `json:"description"`

	Properties           map[string]json.RawMessage `json:"properties"`
	Required             []string                   `json:"required"`
	AdditionalProperties *bool                      `json:"additionalProperties"`

	Enum    []string     `json:"enum"`
	Minimum *json.Number `json:"minimum"`
	Maximum *json.Number `json:"maximum"`
}

// Parse reads a closed schema. The error is why it is not closed.
func Parse(source json.RawMessage) (Schema, error) {
	top, err := read(source)
	switch {
	case err != nil:
		return Schema{}, err
	case top.Type != "object":
		return Schema{}, errors.New(`its type must be "object"`)
	case top.AdditionalProperties == nil || *top.AdditionalProperties:
		return Schema{}, errors.New("additionalProperties must be false")
	case top.Enum != nil || top.Minimum != nil || top.Maximum != nil:
		return Schema{}, errors.New("only its properties may have enum, minimum and maximum")
	case len(top.Properties) == 0 || len(top.Properties) > maxFields:
		return Schema{}, fmt.Errorf("it must have 1 to %d properties", maxFields)
	}
	s := Schema{fields: map[string]field{}}
	for _, name := range slices.Sorted(maps.Keys(top.Properties)) {
		if !identifier.MatchString(name) {
			return Schema{}, fmt.Errorf("the property %q: %s", name, wantIdentifier)
		}
		f, err := parseField(top.Properties[name])
		if err != nil {
			return Schema{}, fmt.Errorf("the property %s: %w", name, err)
		}
		f.required = slices.Contains(top.Required, name)
		s.fields[name] = f
	}
	for _, name := range top.Required {
		if _, ok := s.fields[name]; !ok {
			return Schema{}, fmt.Errorf("required names %q, which is no property", name)
		}
	}
	if bits := s.Bits(); bits > MaxBits {
		return Schema{}, fmt.Errorf("its values have %d bits, and may have at most %d: remove properties, or narrow integers", bits, MaxBits)
	}
	return s, nil
}

const wantIdentifier = "names and members of enum must have at most 32 letters, digits and _ . -"

func read(source json.RawMessage) (keywords, error) {
	var names map[string]json.RawMessage
	if err := json.Unmarshal(source, &names); err != nil || names == nil {
		return keywords{}, errors.New("it must be an object")
	}
	for _, name := range slices.Sorted(maps.Keys(names)) { // encoding/json ignores case
		switch name {
		case "type", "title", "description", "properties", "required", "additionalProperties", "enum", "minimum", "maximum":
		default:
			return keywords{}, fmt.Errorf("the keyword %s is not allowed", name)
		}
	}
	var k keywords
	if err := json.Unmarshal(source, &k); err != nil {
		return keywords{}, fmt.Errorf("a keyword has a value that is not allowed: %w", err)
	}
	return k, nil
}

func parseField(source json.RawMessage) (field, error) {
	k, err := read(source)
	switch {
	case err != nil:
		return field{}, err
	case k.Properties != nil || k.Required != nil || k.AdditionalProperties != nil:
		return field{}, errors.New("it must be a boolean, an enum or an integer")
	case k.Enum != nil:
		return parseEnum(k)
	case k.Type == "boolean" && k.Minimum == nil && k.Maximum == nil:
		return field{}, nil
	case k.Type == "integer":
		return parseInteger(k)
	}
	return field{}, errors.New("it must be a boolean, an enum of strings, or an integer with minimum and maximum")
}

func parseEnum(k keywords) (field, error) {
	if k.Type != "" && k.Type != "string" || k.Minimum != nil || k.Maximum != nil {
		return field{}, errors.New("an enum must be one of strings")
	}
	members := slices.Compact(slices.Sorted(slices.Values(k.Enum)))
	if len(members) == 0 || len(members) > maxMembers {
		return field{}, fmt.Errorf("an enum must have 1 to %d members", maxMembers)
	}
	for _, member := range members {
		if !identifier.MatchString(member) {
			return field{}, fmt.Errorf("the member %q: %s", member, wantIdentifier)
		}
	}
	return field{members: members}, nil
}

func parseInteger(k keywords) (field, error) {
	if k.Minimum == nil || k.Maximum == nil {
		return field{}, errors.New("an integer must have minimum and maximum")
	}
	low, errLow := strconv.ParseInt(k.Minimum.String(), 10, 64)
	high, errHigh := strconv.ParseInt(k.Maximum.String(), 10, 64)
	if errLow != nil || errHigh != nil || low > high {
		return field{}, errors.New("minimum and maximum must be integers of 64 bits, the smaller one first")
	}
	return field{integer: true, minimum: low, maximum: high}, nil
}

// Values returns the number of different values.
func (s Schema) Values() *big.Int {
	product := big.NewInt(1)
	for _, f := range s.fields {
		product.Mul(product, f.values())
	}
	return product
}

func (f field) values() *big.Int {
	n := big.NewInt(2)
	switch {
	case f.members != nil:
		n.SetInt64(int64(len(f.members)))
	case f.integer:
		n.Sub(big.NewInt(f.maximum), big.NewInt(f.minimum))
		n.Add(n, big.NewInt(1))
	}
	if !f.required {
		n.Add(n, big.NewInt(1))
	}
	return n
}

// Bits returns the bits of information in a value, rounded up.
func (s Schema) Bits() int { return new(big.Int).Sub(s.Values(), big.NewInt(1)).BitLen() }

// Canonical returns a value of the schema in its only encoding: spaces, the order of keys and the form of numbers carry information too.
func (s Schema) Canonical(data json.RawMessage) (json.RawMessage, error) {
	var given map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil || given == nil {
		return nil, errors.New("it must be an object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it must be one object")
	}
	plain := map[string]any{}
	for name, value := range given {
		f, ok := s.fields[name]
		if ok {
			plain[name], ok = f.plain(value)
		}
		if !ok {
			return nil, errors.New("a property does not match its schema")
		}
	}
	for name, f := range s.fields {
		if _, ok := plain[name]; f.required && !ok {
			return nil, fmt.Errorf("the property %s is missing", name)
		}
	}
	return json.Marshal(plain)
}

// plain returns the value of a property, and whether it is allowed.
func (f field) plain(value any) (any, bool) {
	switch value := value.(type) {
	case string:
		return value, slices.Contains(f.members, value)
	case bool:
		return value, f.members == nil && !f.integer
	case json.Number:
		n, err := strconv.ParseInt(value.String(), 10, 64)
		return n, err == nil && f.integer && f.minimum <= n && n <= f.maximum
	}
	return nil, false
}
