// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/tool"
)

// form is the schema of requested input: an object with fields that have no fields themselves.
type form struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

// property is a field of a form. Choices are in Enum or, with titles, in OneOf; those of a list are in its items.
type property struct {
	Type        string    `json:"type"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Format      string    `json:"format"`
	Enum        []any     `json:"enum"`
	EnumNames   []string  `json:"enumNames"`
	OneOf       []choice  `json:"oneOf"`
	AnyOf       []choice  `json:"anyOf"`
	Items       *property `json:"items"`
	Default     any       `json:"default"`
}

type choice struct {
	Const any    `json:"const"`
	Title string `json:"title"`
}

type field struct {
	name string
	property
	required bool
}

// form decodes the schema. One that cannot be decoded has no fields.
func (e elicitation) form() form {
	var f form
	if json.Unmarshal(e.Schema, &f) != nil {
		return form{}
	}
	return f
}

// fields returns the fields in order, required ones first.
func (f form) fields() []field {
	var fields []field
	for _, required := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(f.Properties)) {
			if slices.Contains(f.Required, name) == required {
				fields = append(fields, field{name, f.Properties[name], required})
			}
		}
	}
	return fields
}

// choices returns the values to choose from, with their titles.
func (p property) choices() []choice {
	if p.Items != nil {
		return p.Items.choices()
	}
	choices := slices.Concat(p.OneOf, p.AnyOf)
	for i, value := range p.Enum {
		c := choice{Const: value}
		if i < len(p.EnumNames) {
			c.Title = p.EnumNames[i]
		}
		choices = append(choices, c)
	}
	return choices
}

func (f field) describe() string {
	const maxPart = 200
	kind := map[string]string{"string": "a text", "number": "a number", "integer": "a whole number", "boolean": "yes or no", "array": "a list"}[f.Type]
	if kind == "" {
		kind = "a value"
	}
	if f.Format != "" {
		kind += " (" + shorten.UntrustedLine(f.Format, maxPart) + ")"
	}
	var names []string
	for _, c := range f.choices() {
		names = append(names, shorten.UntrustedLine(fmt.Sprint(c.Const), maxPart/4))
	}
	if len(names) > 0 {
		kind = "one of " + strings.Join(names, ", ")
		if f.Type == "array" {
			kind = "some of " + strings.Join(names, ", ")
		}
		kind = shorten.Head(kind, 2*maxPart)
	}
	if about := shorten.UntrustedLine(strings.TrimSpace(f.Title+" "+f.Description), maxPart); about != "" {
		kind += " (" + about + ")"
	}
	if f.Default != nil {
		kind += fmt.Sprintf(" (default %s)", shorten.UntrustedLine(fmt.Sprint(f.Default), maxPart/4))
	}
	if !f.required {
		kind += " (optional)"
	}
	return kind
}

// parse converts an answer to the content of a form: the value of its only field, or JSON.
func (f form) parse(ctx context.Context, answer string, schema json.RawMessage) (map[string]any, string) {
	var content map[string]any
	fields := f.fields()
	decoder := json.NewDecoder(strings.NewReader(answer))
	isObject := decoder.Decode(&content) == nil && content != nil && !decoder.More()
	switch {
	case isObject:
	case len(fields) == 1:
		value, problem := fields[0].parse(answer)
		if problem != "" {
			return nil, problem
		}
		content = map[string]any{fields[0].name: value}
	default:
		return nil, "it must be a JSON object with the fields below"
	}
	for _, field := range fields {
		if _, ok := content[field.name]; !ok && field.Default != nil {
			content[field.name] = field.Default
		}
	}
	encoded, err := json.Marshal(content)
	if err != nil {
		return nil, err.Error()
	}
	var checker tool.Checker
	lines, err := checker.Violations(ctx, schema, encoded)
	if err != nil {
		return nil, err.Error()
	}
	if len(lines) > 0 {
		return nil, shorten.UntrustedLine(strings.Join(lines, "; "), maxMessage)
	}
	return content, ""
}

func (f field) parse(answer string) (any, string) {
	answer = strings.TrimSpace(answer)
	if f.Type == "array" {
		values := []any{}
		for part := range strings.SplitSeq(answer, ",") {
			value, problem := f.choose(strings.TrimSpace(part))
			if problem != "" {
				return nil, problem
			}
			values = append(values, value)
		}
		return values, ""
	}
	if len(f.choices()) > 0 {
		return f.choose(answer)
	}
	switch f.Type {
	case "boolean":
		switch strings.ToLower(answer) {
		case "yes", "y", "true":
			return true, ""
		case "no", "n", "false":
			return false, ""
		}
		return nil, "it must be yes or no"
	case "number", "integer":
		n, err := strconv.ParseFloat(answer, 64)
		if err != nil {
			return nil, "it must be a number"
		}
		return n, ""
	}
	return answer, ""
}

// choose returns the choice that an answer names by value or title.
func (f field) choose(answer string) (any, string) {
	choices := f.choices()
	for _, c := range choices {
		if strings.EqualFold(fmt.Sprint(c.Const), answer) || c.Title != "" && strings.EqualFold(c.Title, answer) {
			return c.Const, ""
		}
	}
	if len(choices) == 0 {
		return answer, ""
	}
	return nil, "it must be " + f.describe()
}
