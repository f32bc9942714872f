// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// schema checks values. compileSchema and check bound the work of the library, which was chosen because it reports all
// violations with their places, so that a model can correct them at once.
type schema struct {
	compiled *jsonschema.Schema
	// parts has every subschema that the compiled one contains or refers to.
	parts map[*jsonschema.Schema]*part
}

const (
	schemaURL = "tool:///parameters"
	// maxViolations bounds the lines of one answer; the rest shows up on the next attempt.
	maxViolations = 10
	// maxViolation bounds one line, which may repeat a value.
	maxViolation = 300
	// maxSchemaError bounds the text of an error about a schema.
	maxSchemaError = 1000
)

// errTooComplex marks a schema or a check that exceeds a bound.
var errTooComplex = errors.New("the schema is too complex")

// compileSchema returns the compiled schema, and its source in the form that providers require: of type object, with
// properties.
func compileSchema(source json.RawMessage) (compiled *schema, normal json.RawMessage, err error) {
	defer func() {
		if recover() != nil {
			compiled, normal, err = nil, nil, errors.New("the schema cannot be read")
		}
	}()
	if len(source) > maxSchemaBytes {
		return nil, nil, fmt.Errorf("%w: it has more than %d KiB", errTooComplex, maxSchemaBytes>>10)
	}
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
	if err := (&sourceSize{}).add(document, 0); err != nil {
		return nil, nil, err
	}
	if normal, err = json.Marshal(object); err != nil {
		return nil, nil, fmt.Errorf("encode schema: %w", err)
	}

	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	patterns := patternCompiler{compiled: map[string]jsonschema.Regexp{}}
	compiler.UseRegexpEngine(patterns.compile)
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, nil, shortError(err)
	}
	root, err := compiler.Compile(schemaURL)
	if patterns.err != nil {
		return nil, nil, patterns.err
	}
	if err != nil {
		return nil, nil, shortError(err)
	}
	parts, err := measure(root)
	if err != nil {
		return nil, nil, err
	}
	return &schema{root, parts}, normal, nil
}

// CheckSchema returns why a schema cannot be used for arguments, or nil.
func CheckSchema(source json.RawMessage) error {
	_, _, err := compileSchema(source)
	return err
}

// shortError cuts the text of the library's error, which repeats what the schema contains.
func shortError(err error) error {
	return errors.New(shorten.HeadBytes(err.Error(), maxSchemaError))
}

// check returns one line for each violation. An error means that the check was not made because ctx has ended.
func (s *schema) check(ctx context.Context, arguments map[string]any) (lines []string, err error) {
	defer func() {
		if recover() != nil {
			lines, err = nil, nil // the library panicked on the schema: leave the check to the tool
		}
	}()
	m := meter{ctx: ctx, parts: s.parts, left: maxSteps}
	if err := m.visit(s.compiled, arguments, 0); errors.Is(err, errTooComplex) {
		return []string{err.Error()}, nil
	} else if err != nil {
		return nil, err
	}
	var invalid *jsonschema.ValidationError
	switch err := s.compiled.Validate(arguments); {
	case err == nil:
		return nil, nil
	case !errors.As(err, &invalid):
		return []string{err.Error()}, nil
	}
	causes := violations(invalid, nil)
	slices.SortFunc(causes, compareViolations) // the library walks maps
	for _, cause := range causes[:min(len(causes), maxViolations)] {
		lines = append(lines, describe(cause))
	}
	if len(causes) > maxViolations {
		lines = append(lines, fmt.Sprintf("and %d more", len(causes)-maxViolations))
	}
	return lines, nil
}

// compareViolations orders violations by their places in the value and in the schema.
func compareViolations(a, b *jsonschema.ValidationError) int {
	return cmp.Or(
		slices.Compare(a.InstanceLocation, b.InstanceLocation),
		cmp.Compare(a.SchemaURL, b.SchemaURL),
		slices.Compare(a.ErrorKind.KeywordPath(), b.ErrorKind.KeywordPath()),
	)
}

// violations flattens the tree of causes. A violation with causes is explained by them, except for a choice (oneOf,
// anyOf), which is reported itself.
func violations(v *jsonschema.ValidationError, list []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch v.ErrorKind.(type) {
	case *kind.PropertyNames:
		return append(list, v)
	case *kind.AnyOf, *kind.OneOf, *kind.Not:
		list = append(list, v)
	default:
		if len(v.Causes) == 0 {
			return append(list, v)
		}
	}
	for _, cause := range v.Causes {
		list = violations(cause, list)
	}
	return list
}

func describe(v *jsonschema.ValidationError) string {
	// The library has overwritten the location of a bad property name by the time it returns, so the location is
	// omitted.
	if name, ok := v.ErrorKind.(*kind.PropertyNames); ok {
		return fmt.Sprintf("a property must not be called %q", shorten.HeadBytes(name.Property, maxViolation))
	}
	text := shorten.HeadBytes(v.ErrorKind.LocalizedString(message.NewPrinter(language.English)), maxViolation)
	return describePlace(v.InstanceLocation) + ": " + text
}

// noLoader prevents schemas of foreign servers from making the operator read files or open connections.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s; only references within the schema are followed", url)
}
