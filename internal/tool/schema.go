// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// schema checks arguments. The library was chosen because it reports every violation with its place in the arguments,
// so that a model can fix all at once.
type schema struct {
	compiled *jsonschema.Schema
}

const (
	schemaURL = "tool:///parameters"
	// maxViolations bounds the lines of one answer; the rest shows up on the next attempt.
	maxViolations = 10
	// maxViolation bounds one line, which may repeat a value.
	maxViolation = 300
)

// compileSchema returns the compiled schema, and its source in the form that providers require: of type object, with
// properties.
func compileSchema(source json.RawMessage) (*schema, json.RawMessage, error) {
	document, err := decodeStrict(source)
	if err != nil {
		return nil, nil, fmt.Errorf("read schema: %w", err)
	}
	object, ok := document.(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("a schema must be a JSON object, not %s", jsonType(document))
	}
	if t, set := object["type"]; set && t != "object" {
		return nil, nil, fmt.Errorf("the schema must have type object, not %v", t)
	}
	object["type"] = "object"
	if _, set := object["properties"]; !set {
		object["properties"] = map[string]any{}
	}
	normal, err := json.Marshal(object)
	if err != nil {
		return nil, nil, fmt.Errorf("encode schema: %w", err)
	}

	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(regexpOrAny)
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, nil, err
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, nil, err
	}
	return &schema{compiled}, normal, nil
}

// check returns one line for each violation.
func (s *schema) check(arguments map[string]any) []string {
	err := s.compiled.Validate(arguments)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []string{err.Error()}
	}
	lines := violations(invalid, nil)
	slices.Sort(lines) // the library walks maps
	if len(lines) > maxViolations {
		more := fmt.Sprintf("and %d more", len(lines)-maxViolations)
		lines = append(lines[:maxViolations], more)
	}
	return lines
}

// violations flattens the tree of causes. A violation with causes is explained by them, except for a choice (oneOf,
// anyOf), which is reported itself.
func violations(v *jsonschema.ValidationError, lines []string) []string {
	switch v.ErrorKind.(type) {
	case *kind.PropertyNames:
		return append(lines, describe(v))
	case *kind.AnyOf, *kind.OneOf, *kind.Not:
		lines = append(lines, describe(v))
	default:
		if len(v.Causes) == 0 {
			return append(lines, describe(v))
		}
	}
	for _, cause := range v.Causes {
		lines = violations(cause, lines)
	}
	return lines
}

func describe(v *jsonschema.ValidationError) string {
	// The library has overwritten the location of a bad property name by the time it returns, so the location is
	// omitted.
	if name, ok := v.ErrorKind.(*kind.PropertyNames); ok {
		return fmt.Sprintf("a property may not be called %q", name.Property)
	}
	var pointer strings.Builder
	for _, key := range v.InstanceLocation {
		pointer.WriteString("/" + escapePointer(key))
	}
	text := shorten.HeadBytes(v.ErrorKind.LocalizedString(message.NewPrinter(language.English)), maxViolation)
	return describePointer(pointer.String()) + ": " + text
}

// noLoader prevents schemas of foreign servers from making the operator read files or open connections.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s; only references within the schema are followed", url)
}

// regexpOrAny compiles patterns. Schemas have ECMAScript patterns, some of which Go does not support (look-ahead,
// back-references). Such a pattern is left to the tool, because withholding the tool would be worse.
func regexpOrAny(pattern string) (jsonschema.Regexp, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return anyString(pattern), nil //nolint:nilerr // an unknown pattern is not checked here
	}
	return compiled, nil
}

type anyString string

func (anyString) MatchString(string) bool { return true }
func (s anyString) String() string        { return string(s) }
