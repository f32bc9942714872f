// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Template is text with expressions: {{ CEL }}.
type Template struct {
	field string
	parts []part
}

// part is literal text, or an expression.
type part struct {
	text    string
	program *Program
}

// CompileTemplate compiles the expressions of text. Field is the field of the spec that contains it, for errors.
func CompileTemplate(source Source, field, text string) (*Template, error) {
	t := &Template{field: field}
	for {
		before, rest, ok := strings.Cut(text, "{{")
		if before != "" {
			t.parts = append(t.parts, part{text: before})
		}
		if !ok {
			return t, nil
		}
		end := expressionEnd(rest)
		if end < 0 {
			return nil, &Error{Field: field, Problem: "{{ without }}: write a literal {{ as {{ '{{' }}"}
		}
		if t.Expressions() >= MaxExpressions {
			return nil, tooMany(field)
		}
		program, err := compileForFirings(source, field+": {{"+rest[:end]+"}}", rest[:end])
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, part{program: program})
		text = rest[end+len("}}"):]
	}
}

func tooMany(field string) error {
	return &Error{Field: field, Problem: fmt.Sprintf("there are more than %d expressions", MaxExpressions)}
}

// expressionEnd returns the position of the }} that ends an expression, or -1. Braces of maps and of text in quotes
// belong to the expression.
func expressionEnd(text string) int {
	depth := 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\'':
			i = stringEnd(text, i)
			continue
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == '}' && strings.HasPrefix(text[i:], "}}"):
			return i
		}
		i++
	}
	return -1
}

// stringEnd returns the position after the string literal that begins at a position.
func stringEnd(text string, begin int) int {
	quote := text[begin : begin+1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(text[begin:], long) {
		quote = long
	}
	raw := begin > 0 && (text[begin-1] == 'r' || text[begin-1] == 'R')
	for i := begin + len(quote); i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		case text[i] == '\\' && !raw:
			i++
		}
	}
	return len(text)
}

func (t *Template) Expressions() int {
	count := 0
	for _, p := range t.parts {
		if p.program != nil {
			count++
		}
	}
	return count
}

// Render evaluates the expressions. The result has at most maxLength characters.
func (t *Template) Render(ctx context.Context, in Input, maxLength int) (string, error) {
	var out strings.Builder
	for _, p := range t.parts {
		text := p.text
		if p.program != nil {
			var err error
			if text, err = p.program.Text(ctx, in); err != nil {
				return "", err
			}
		}
		out.WriteString(text)
		if out.Len() > MaxSize {
			return "", &Error{Field: t.field, Problem: errTooLarge.Error()}
		}
	}
	if length := utf8.RuneCountInString(out.String()); length > maxLength {
		return "", &Error{Field: t.field, Problem: fmt.Sprintf("the text has %d characters, at most %d are allowed", length, maxLength)}
	}
	return out.String(), nil
}

// single returns the expression of a template that is nothing else, or nil.
func (t *Template) single() *Program {
	if len(t.parts) == 1 {
		return t.parts[0].program
	}
	return nil
}

// JSONTemplate is a JSON value whose strings are templates.
type JSONTemplate struct {
	field       string
	root        any // of maps, lists, *Template and other JSON values
	expressions int
}

// CompileJSON compiles the expressions in the strings of a JSON value.
func CompileJSON(source Source, field string, raw []byte) (*JSONTemplate, error) {
	var value any
	if err := utiljson.Unmarshal(raw, &value); err != nil { // it keeps integers
		return nil, &Error{Field: field, Problem: err.Error()}
	}
	t := &JSONTemplate{field: field}
	var err error
	t.root, err = t.compile(source, field, value)
	return t, err
}

func (t *JSONTemplate) compile(source Source, field string, value any) (any, error) {
	switch v := value.(type) {
	case string:
		template, err := CompileTemplate(source, field, v)
		if err != nil {
			return nil, err
		}
		if t.expressions += template.Expressions(); t.expressions > MaxExpressions {
			return nil, tooMany(t.field)
		}
		return template, nil
	case []any:
		for i := range v {
			var err error
			if v[i], err = t.compile(source, fmt.Sprintf("%s[%d]", field, i), v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			var err error
			if v[name], err = t.compile(source, field+"."+name, v[name]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func (t *JSONTemplate) Expressions() int { return t.expressions }

// Render evaluates the expressions. A string that is exactly one expression becomes its value, of any type.
func (t *JSONTemplate) Render(ctx context.Context, in Input) (json.RawMessage, error) {
	value, err := render(ctx, in, t.root)
	if err != nil {
		return nil, err
	}
	text, err := formatText(value)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxSize {
		return nil, &Error{Field: t.field, Problem: errTooLarge.Error()}
	}
	return json.RawMessage(text), nil
}

func render(ctx context.Context, in Input, value any) (any, error) {
	switch v := value.(type) {
	case *Template:
		if program := v.single(); program != nil {
			return program.Value(ctx, in)
		}
		return v.Render(ctx, in, MaxSize)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = render(ctx, in, v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			var err error
			if out[name], err = render(ctx, in, v[name]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return value, nil
}
