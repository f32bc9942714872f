// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of a schema, checked when it is compiled. They are far above what schemas of tools and results have.
const (
	maxSchemaBytes = 256 << 10
	// maxSchemaParts bounds the objects, arrays and booleans of a schema: the library's work grows with their square.
	maxSchemaParts = 4000
	// maxSchemaPaths bounds the places of all parts together, in bytes: the library stores the place of each part.
	maxSchemaPaths = 2 << 20
	// maxExpanded bounds the subschemas that apply to one value after the references are followed, and maxExpandedDepth
	// how deep they are nested.
	maxExpanded      = 5000
	maxExpandedDepth = 64
	// maxPattern bounds one regular expression in bytes, and maxPatterns the compiled ones together in instructions.
	maxPattern  = 2 << 10
	maxPatterns = 100_000
)

// sourceSize counts the parts of a schema before the library reads it.
type sourceSize struct{ parts, paths int }

func (c *sourceSize) add(value any, path int) error {
	switch value := value.(type) {
	case map[string]any:
		if dialect, _ := value["$schema"].(string); strings.HasPrefix(dialect, schemaURL) {
			return fmt.Errorf("a schema cannot be its own $schema")
		}
		for key, sub := range value {
			if err := c.add(sub, path+len(key)+1); err != nil {
				return err
			}
		}
	case []any:
		for _, sub := range value {
			if err := c.add(sub, path+5); err != nil {
				return err
			}
		}
	case bool:
	default:
		return nil
	}
	c.parts++
	c.paths += path
	if c.parts > maxSchemaParts {
		return fmt.Errorf("%w: it has more than %d objects, arrays and booleans", errTooComplex, maxSchemaParts)
	}
	if c.paths > maxSchemaPaths {
		return fmt.Errorf("%w: its names are too long", errTooComplex)
	}
	return nil
}

// part describes a subschema before any value is checked.
type part struct {
	// types are the types of values that it allows. It is empty if there is no such restriction.
	types []string
	// inPlace are the subschemas that apply to the same value, and below those that apply to elements, properties and
	// names.
	inPlace, below []*jsonschema.Schema
	// expanded and depth are how many subschemas apply to the same value, with this one, and how deep they are nested.
	// depth is -1 while they are being counted.
	expanded, depth int
	// listed is the size of the values in const and enum, and required the number of names in its other lists.
	listed, required int
}

// measure returns all subschemas that the root contains or refers to. The library does not bound the work of a check
// and follows a reference each time it occurs: in a small schema whose definitions each refer twice to the next, the
// expanded size doubles with each definition.
func measure(root *jsonschema.Schema) (map[*jsonschema.Schema]*part, error) {
	parts := map[*jsonschema.Schema]*part{}
	queue := []*jsonschema.Schema{root}
	for len(queue) > 0 {
		next := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if parts[next] != nil {
			continue
		}
		p, err := newPart(next)
		if err != nil {
			return nil, err
		}
		parts[next] = p
		queue = append(append(queue, p.inPlace...), p.below...)
	}
	for _, p := range parts {
		if err := p.expand(parts); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

func newPart(s *jsonschema.Schema) (*part, error) {
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		return nil, fmt.Errorf("$dynamicRef and $recursiveRef are not supported: use $ref")
	}
	if s.Format != nil && s.Format.Name == "regex" {
		s.Format = nil // it would compile expressions of any size; the tool checks them
	}
	p := &part{required: len(s.Required) + len(s.Dependencies) + len(s.DependentSchemas)}
	if s.Types != nil {
		p.types = s.Types.ToStrings()
	}
	if s.Const != nil {
		p.listed += valueSize(*s.Const)
	}
	if s.Enum != nil {
		p.listed += valueSize(s.Enum.Values)
	}
	for _, names := range s.DependentRequired {
		p.required += len(names)
	}
	p.inPlace = slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf,
		slices.Collect(maps.Values(s.DependentSchemas)))
	for _, dependency := range s.Dependencies {
		if names, ok := dependency.([]string); ok {
			p.required += len(names)
		}
		p.inPlace = append(p.inPlace, asSchemas(dependency)...)
	}
	p.below = slices.Concat([]*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems},
		slices.Collect(maps.Values(s.Properties)), slices.Collect(maps.Values(s.PatternProperties)), s.PrefixItems,
		asSchemas(s.AdditionalProperties), asSchemas(s.Items), asSchemas(s.AdditionalItems))
	isNil := func(s *jsonschema.Schema) bool { return s == nil }
	p.inPlace = slices.DeleteFunc(p.inPlace, isNil)
	p.below = slices.DeleteFunc(p.below, isNil)
	return p, nil
}

// asSchemas returns the schemas of a keyword that allows several forms.
func asSchemas(keyword any) []*jsonschema.Schema {
	switch keyword := keyword.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{keyword}
	case []*jsonschema.Schema:
		return keyword
	}
	return nil
}

// expand counts the subschemas that apply to the same value.
func (p *part) expand(parts map[*jsonschema.Schema]*part) error {
	if p.expanded > 0 {
		return nil
	}
	if p.depth < 0 {
		return fmt.Errorf("a reference leads back to itself without consuming input, so no value can match")
	}
	p.depth = -1
	expanded, depth := 1, 1
	for _, sub := range p.inPlace {
		q := parts[sub]
		if err := q.expand(parts); err != nil {
			return err
		}
		expanded += q.expanded
		depth = max(depth, q.depth+1)
		if expanded > maxExpanded {
			return fmt.Errorf("%w: with its references followed, more than %d subschemas apply to one value. "+
				"Use fewer alternatives, or references that branch less", errTooComplex, maxExpanded)
		}
		if depth > maxExpandedDepth {
			return fmt.Errorf("%w: references and alternatives are nested more than %d deep", errTooComplex, maxExpandedDepth)
		}
	}
	p.expanded, p.depth = expanded, depth
	return nil
}

// valueSize returns the number of values within a value; long text counts for more than one.
func valueSize(value any) int {
	size := 1
	switch value := value.(type) {
	case map[string]any:
		for key, sub := range value {
			size += len(key)/64 + valueSize(sub)
		}
	case []any:
		for _, sub := range value {
			size += valueSize(sub)
		}
	case string:
		size += len(value) / 64
	}
	return size
}

// patternCompiler compiles the patterns of one schema. Schemas have ECMAScript patterns, some of which Go does not
// support (look-ahead, back-references). Such a pattern is left to the tool, because withholding the tool would be
// worse.
type patternCompiler struct {
	compiled map[string]jsonschema.Regexp
	size     int
	err      error // why the patterns are too large
}

func (c *patternCompiler) compile(source string) (jsonschema.Regexp, error) {
	if compiled, ok := c.compiled[source]; ok {
		return compiled, nil
	}
	size, err := patternSize(source)
	if err == nil {
		if c.size += size; c.size > maxPatterns {
			err = fmt.Errorf("%w: its patterns are too large", errTooComplex)
		}
	}
	if err != nil {
		c.err = err
		return nil, err
	}
	p := &pattern{source: source, size: size}
	if compiled, err := regexp.Compile(source); err == nil {
		p.compiled = compiled
	}
	c.compiled[source] = p
	return p, nil
}

// pattern is a regular expression with its size in instructions. compiled is nil if Go does not support it.
type pattern struct {
	source   string
	size     int
	compiled *regexp.Regexp
}

func (p *pattern) MatchString(s string) bool { return p.compiled == nil || p.compiled.MatchString(s) }
func (p *pattern) String() string            { return p.source }

// patternSize returns the number of instructions of a pattern, or a small number for one that Go does not support. A
// repetition repeats its instructions, so a short pattern may be large.
func patternSize(source string) (int, error) {
	if len(source) > maxPattern {
		return 0, fmt.Errorf("%w: a pattern has more than %d bytes", errTooComplex, maxPattern)
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return len(source), nil //nolint:nilerr // an unknown pattern is not checked here
	}
	return instructions(parsed), nil
}

func instructions(e *syntax.Regexp) int {
	size := 1 + len(e.Rune)
	for _, sub := range e.Sub {
		size += instructions(sub)
	}
	if e.Op == syntax.OpRepeat {
		size *= max(e.Min+1, e.Max, 1)
	}
	return size
}
