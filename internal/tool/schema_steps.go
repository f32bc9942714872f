// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxSteps bounds the work of one check. A step is the check of a value against a subschema, for which the library
	// allocates about a kilobyte, or as much other work.
	maxSteps = 100_000
	// stepsPerContext is the number of steps between two checks of the context.
	stepsPerContext = 1000
)

// meter counts the steps of a check before the library makes it, as if every alternative were tried: the library can be
// neither interrupted nor limited. The count follows the way that the library takes.
type meter struct {
	ctx       context.Context
	parts     map[*jsonschema.Schema]*part
	left      int
	unchecked int // steps since the context was consulted
}

func (m *meter) spend(steps int) error {
	m.left -= steps
	if m.left < 0 {
		return fmt.Errorf("%w for this value: the check needs more than %d steps. Use a smaller or less nested value", errTooComplex, maxSteps)
	}
	if m.unchecked += steps; m.unchecked > stepsPerContext {
		m.unchecked = 0
		return m.ctx.Err()
	}
	return nil
}

// visit counts the check of a value, which is depth levels deep in the whole, against a subschema.
func (m *meter) visit(s *jsonschema.Schema, value any, depth int) error {
	p := m.parts[s]
	// A violation records its place.
	if err := m.spend(1 + depth/4); err != nil || s.Bool != nil || !p.allows(value) {
		return err
	}
	if err := m.spend(p.steps(value)); err != nil {
		return err
	}
	for _, sub := range p.inPlace {
		if err := m.visit(sub, value, depth); err != nil {
			return err
		}
	}
	switch value := value.(type) {
	case map[string]any:
		return m.object(s, value, depth+1)
	case []any:
		return m.array(s, value, depth+1)
	case string:
		return m.text(s, value)
	}
	return nil
}

// allows reports whether the value may have an allowed type. The library stops at another type.
func (p *part) allows(value any) bool {
	if len(p.types) == 0 {
		return true
	}
	name := "object"
	switch value.(type) {
	case nil:
		name = "null"
	case bool:
		name = "boolean"
	case json.Number:
		return slices.Contains(p.types, "number") || slices.Contains(p.types, "integer")
	case string:
		name = "string"
	case []any:
		name = "array"
	}
	return slices.Contains(p.types, name)
}

// steps returns the work of comparing a value with the lists of a subschema.
func (p *part) steps(value any) int {
	switch value := value.(type) {
	case map[string]any:
		return p.listed + (p.required+len(value))/8
	case []any:
		return p.listed + len(value)/8
	case json.Number:
		return p.listed
	}
	return p.listed / 16
}

func (m *meter) object(s *jsonschema.Schema, object map[string]any, depth int) error {
	for key, value := range object {
		subs, err := m.propertySchemas(s, key)
		if err != nil {
			return err
		}
		for _, sub := range subs {
			if err := m.visit(sub, value, depth); err != nil {
				return err
			}
		}
		if s.PropertyNames != nil {
			if err := m.visit(s.PropertyNames, key, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *meter) propertySchemas(s *jsonschema.Schema, key string) ([]*jsonschema.Schema, error) {
	var subs []*jsonschema.Schema
	if sub, ok := s.Properties[key]; ok {
		subs = append(subs, sub)
	}
	for expression, sub := range s.PatternProperties {
		if err := m.spend(matchSteps(expression, key)); err != nil {
			return nil, err
		}
		if expression.MatchString(key) {
			subs = append(subs, sub)
		}
	}
	if len(subs) == 0 {
		subs = asSchemas(s.AdditionalProperties)
	}
	if s.UnevaluatedProperties != nil {
		subs = append(subs, s.UnevaluatedProperties)
	}
	return subs, nil
}

func (m *meter) array(s *jsonschema.Schema, array []any, depth int) error {
	if s.UniqueItems {
		if err := m.spend(uniqueSteps(array)); err != nil {
			return err
		}
	}
	for i, value := range array {
		for _, sub := range itemSchemas(s, i) {
			if err := m.visit(sub, value, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// itemSchemas returns the subschemas that apply to an element.
func itemSchemas(s *jsonschema.Schema, i int) []*jsonschema.Schema {
	var subs []*jsonschema.Schema
	switch items, isList := s.Items.([]*jsonschema.Schema); {
	case isList && i < len(items):
		subs = append(subs, items[i])
	case isList:
		subs = append(subs, asSchemas(s.AdditionalItems)...)
	default:
		subs = append(subs, asSchemas(s.Items)...)
	}
	if i < len(s.PrefixItems) {
		subs = append(subs, s.PrefixItems[i])
	} else {
		subs = append(subs, s.Items2020)
	}
	subs = append(subs, s.Contains, s.UnevaluatedItems)
	return slices.DeleteFunc(subs, func(sub *jsonschema.Schema) bool { return sub == nil })
}

// uniqueSteps returns the work of comparing the elements of an array with each other. The library finds equal ones by a
// hash, which is the same for many arrays and objects that differ.
func uniqueSteps(array []any) int {
	composite := 0
	for _, value := range array {
		switch value.(type) {
		case map[string]any, []any:
			composite++
		}
	}
	return valueSize(array) + composite*composite/8
}

func (m *meter) text(s *jsonschema.Schema, text string) error {
	steps := len(text) / 256
	if s.Pattern != nil {
		steps += matchSteps(s.Pattern, text)
	}
	if s.Format != nil {
		steps += len(text) / 16
	}
	return m.spend(steps)
}

// matchSteps returns the work of matching: each instruction may be active at each character.
func matchSteps(expression jsonschema.Regexp, text string) int {
	size := 1
	if p, ok := expression.(*pattern); ok {
		size = p.size
	}
	return len(text) * size / 256
}
