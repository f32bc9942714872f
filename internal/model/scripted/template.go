// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// templateFunctions returns the functions of templates besides those of text/template. None of them has side effects.
func templateFunctions() template.FuncMap {
	return template.FuncMap{
		"lower": strings.ToLower,
		"upper": strings.ToUpper,
		"trim":  strings.TrimSpace,
		// find returns the first group of the expression, or the whole match, or "".
		"find": func(expression, text string) (string, error) {
			re, err := regexp.Compile(expression)
			if err != nil {
				return "", err
			}
			m := re.FindStringSubmatch(text)
			if m == nil {
				return "", nil
			}
			return m[min(1, len(m)-1)], nil
		},
		// count returns a list with the number of elements in the text, to range over.
		"count": func(text string) ([]struct{}, error) {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > 100_000 {
				return nil, fmt.Errorf("%q is not a number up to 100000", text)
			}
			return make([]struct{}, n), nil
		},
		// json parses text, for example a tool's result.
		"json": func(text string) (any, error) {
			var v any
			err := json.Unmarshal([]byte(text), &v)
			return v, err
		},
	}
}

// text is a string of a script, possibly a template.
type text struct {
	plain string
	tmpl  *template.Template
}

// UnmarshalYAML parses the template, if it is one.
func (t *text) UnmarshalYAML(node *yaml.Node) error {
	s, err := scalar(node, "a text")
	if err != nil {
		return err
	}
	*t, err = newText(s, node.Line)
	return err
}

func newText(s string, line int) (text, error) {
	if !strings.Contains(s, "{{") {
		return text{plain: s}, nil
	}
	tmpl, err := template.New("text").Option("missingkey=error").Funcs(templateFunctions()).Parse(s)
	if err != nil {
		return text{}, fmt.Errorf("line %d: %w", line, err)
	}
	return text{tmpl: tmpl}, nil
}

func (t text) isSet() bool { return t.plain != "" || t.tmpl != nil }

func (t text) render(captures map[string]any) (string, error) {
	if t.tmpl == nil {
		return t.plain, nil
	}
	var b strings.Builder
	if err := t.tmpl.Execute(&b, captures); err != nil {
		return "", err
	}
	return b.String(), nil
}

// arguments are a tool call's arguments: a YAML mapping whose texts may be templates, or a scalar, which is sent
// verbatim so that a script can send invalid JSON. The mapping is converted to JSON when the script is loaded; only
// its templates are rendered later.
type arguments struct {
	pieces []argumentPart
}

// argumentPart is JSON text, or a template whose result becomes a JSON string (or, in a scalar, plain text).
type argumentPart struct {
	literal string
	text    text
	quote   bool
}

func (a *arguments) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		t, err := newText(node.Value, node.Line)
		a.pieces = []argumentPart{{text: t}}
		return err
	}
	return a.compile(node)
}

func (a *arguments) compile(node *yaml.Node) error {
	switch node.Kind {
	case yaml.AliasNode:
		// An alias may contain itself or expand without bound.
		return fmt.Errorf("line %d: arguments cannot refer to *%s; write them out", node.Line, node.Value)
	case yaml.MappingNode:
		return a.compileMapping(node)
	case yaml.SequenceNode:
		a.write("[")
		for i, item := range node.Content {
			if i > 0 {
				a.write(",")
			}
			if err := a.compile(item); err != nil {
				return err
			}
		}
		a.write("]")
		return nil
	}
	return a.compileScalar(node)
}

func (a *arguments) compileMapping(node *yaml.Node) error {
	a.write("{")
	for i := 0; i+1 < len(node.Content); i += 2 {
		if i > 0 {
			a.write(",")
		}
		key, err := json.Marshal(node.Content[i].Value)
		if err != nil {
			return fmt.Errorf("line %d: %w", node.Line, err)
		}
		a.write(string(key) + ":")
		if err := a.compile(node.Content[i+1]); err != nil {
			return err
		}
	}
	a.write("}")
	return nil
}

func (a *arguments) compileScalar(node *yaml.Node) error {
	if node.Tag == "!!str" && strings.Contains(node.Value, "{{") {
		t, err := newText(node.Value, node.Line)
		a.pieces = append(a.pieces, argumentPart{text: t, quote: true})
		return err
	}
	var v any
	if err := node.Decode(&v); err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	a.write(string(data))
	return nil
}

// write appends literal JSON to the last literal piece.
func (a *arguments) write(s string) {
	if n := len(a.pieces); n > 0 && !a.pieces[n-1].text.isSet() {
		a.pieces[n-1].literal += s
		return
	}
	a.pieces = append(a.pieces, argumentPart{literal: s})
}

func (a arguments) render(captures map[string]any) (string, error) {
	if len(a.pieces) == 0 {
		return "{}", nil
	}
	if len(a.pieces) == 1 && !a.pieces[0].text.isSet() {
		return a.pieces[0].literal, nil
	}
	var b strings.Builder
	for _, p := range a.pieces {
		if !p.text.isSet() {
			b.WriteString(p.literal)
			continue
		}
		s, err := p.text.render(captures)
		if err != nil {
			return "", err
		}
		if p.quote {
			data, err := json.Marshal(s)
			if err != nil {
				return "", err
			}
			s = string(data)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}
