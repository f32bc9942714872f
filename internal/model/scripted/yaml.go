// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// decodeYAML decodes one document and rejects unknown fields. Its errors begin with file:line.
func decodeYAML(file string, data []byte, into any) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	err := dec.Decode(into)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: the script is empty", file)
	}
	if err != nil {
		return locate(file, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: a script is one YAML document; put further ones into their own files", file)
	}
	return nil
}

var (
	yamlLine  = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	yamlTypes = regexp.MustCompile(` in type scripted\.\w+| into scripted\.\w+`)
)

// locate converts the decoder's errors to file:line form and drops the names of Go types, which mean nothing to the
// author of a script.
func locate(file string, err error) error {
	lines := []string{err.Error()}
	if te := new(yaml.TypeError); errors.As(err, &te) {
		lines = te.Errors
	}
	for i, line := range lines {
		line = yamlTypes.ReplaceAllString(line, "")
		if m := yamlLine.FindStringSubmatch(line); m != nil {
			lines[i] = fmt.Sprintf("%s:%s: %s", file, m[1], m[2])
			continue
		}
		lines[i] = fmt.Sprintf("%s: %s", file, strings.TrimPrefix(line, "yaml: "))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// scalar returns the text of a node that must be a scalar.
func scalar(node *yaml.Node, what string) (string, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.ScalarNode {
		return "", fmt.Errorf("line %d: %s must be a single value", node.Line, what)
	}
	return node.Value, nil
}

// duration is written in Go's form: 50ms, 2s.
type duration time.Duration

func (d *duration) UnmarshalYAML(node *yaml.Node) error {
	s, err := scalar(node, "a duration")
	if err != nil {
		return err
	}
	parsed, err := time.ParseDuration(s)
	if err != nil || parsed < 0 {
		return fmt.Errorf("line %d: %q is not a duration; write for example 50ms or 2s", node.Line, s)
	}
	*d = duration(parsed)
	return nil
}

// names is a list of names; a single one may be written without brackets.
type names []string

func (n *names) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*n = names{node.Value}
		return nil
	}
	return node.Decode((*[]string)(n))
}

// roles are role names, normalized by roleKey.
type roles []string

func (r *roles) UnmarshalYAML(node *yaml.Node) error {
	var list names
	if err := list.UnmarshalYAML(node); err != nil {
		return err
	}
	for _, name := range list {
		*r = append(*r, roleKey(name))
	}
	return nil
}

// pattern is a substring, or a regular expression between slashes whose named groups become captures.
type pattern struct {
	text  string
	re    *regexp.Regexp
	named bool
}

func (p *pattern) UnmarshalYAML(node *yaml.Node) error {
	s, err := scalar(node, "a pattern")
	if err != nil {
		return err
	}
	if s == "" {
		return fmt.Errorf("line %d: the pattern is empty; leave it out to match everything", node.Line)
	}
	if len(s) < 3 || s[0] != '/' || s[len(s)-1] != '/' {
		p.text = s
		return nil
	}
	p.re, err = regexp.Compile(s[1 : len(s)-1])
	if err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	for _, name := range p.re.SubexpNames() {
		p.named = p.named || name != ""
	}
	return nil
}

func (p *pattern) String() string {
	if p.re != nil {
		return "/" + p.re.String() + "/"
	}
	return p.text
}

// match reports whether text matches, and adds the named groups to captures.
func (p *pattern) match(text string, captures map[string]any) bool {
	if p == nil {
		return true
	}
	if p.re == nil {
		return strings.Contains(text, p.text)
	}
	if !p.named {
		return p.re.MatchString(text)
	}
	groups := p.re.FindStringSubmatch(text)
	if groups == nil {
		return false
	}
	for i, name := range p.re.SubexpNames() {
		if name != "" {
			captures[name] = groups[i]
		}
	}
	return true
}
