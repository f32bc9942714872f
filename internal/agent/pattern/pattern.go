// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package pattern matches the arguments of tool calls.
package pattern

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Argument restricts an argument of a call: it must be text that matches the pattern. See matches.
type Argument struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
}

// Match reports whether the arguments of a call match all patterns. Every argument with a pattern must be text.
// Arguments that two programs could read differently match nothing: invalid UTF-8, and names that occur twice or differ
// only in case.
func Match(patterns []Argument, arguments string) bool {
	if len(patterns) == 0 {
		return true
	}
	values, ok := Texts(arguments)
	if !ok {
		return false
	}
	return !slices.ContainsFunc(patterns, func(p Argument) bool {
		value, isText := values[p.Name]
		return !isText || !matches(p.Pattern, value)
	})
}

// Texts returns the arguments of a call whose values are strings. It reports false if the arguments are ambiguous.
func Texts(arguments string) (map[string]string, bool) {
	if !utf8.ValidString(arguments) {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(arguments))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
	values, names := map[string]string{}, map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err != nil || !isName || decoder.Decode(&value) != nil {
			return nil, false
		}
		// Upper case and then lower case, so that characters such as the Kelvin sign equal their ASCII letter.
		folded := strings.ToLower(strings.ToUpper(name))
		if names[folded] {
			return nil, false
		}
		names[folded] = true
		var text string
		if bytes.HasPrefix(value, []byte{'"'}) && json.Unmarshal(value, &text) == nil {
			values[name] = text
		}
	}
	_, err := decoder.Token()
	return values, err == nil
}

// matches reports whether text matches a pattern. In a pattern, * stands for any run of characters without control
// characters and without ; & | < > $ and the backquote, which make a shell run something else. A backslash makes the
// next character literal. A pattern with * matches no text with a path segment "..", which would leave the directory
// that the pattern names.
func matches(pattern, text string) bool {
	literals := split(pattern)
	first, rest := literals[0], literals[1:]
	if len(rest) == 0 {
		return text == first
	}
	last, middle := rest[len(rest)-1], rest[:len(rest)-1]
	if hasParentSegment(text) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text[len(first):], last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, literal := range middle {
		run, after, found := strings.Cut(text, literal)
		if !found || strings.ContainsFunc(run, neverWild) {
			return false
		}
		text = after
	}
	return !strings.ContainsFunc(text, neverWild)
}

// split splits a pattern at every unescaped *, and removes the escapes from the parts.
func split(pattern string) []string {
	literals, escaped := []string{""}, false
	for _, r := range pattern {
		last := len(literals) - 1
		switch {
		case escaped || r != '*' && r != '\\':
			literals[last] += string(r)
			escaped = false
		case r == '\\':
			escaped = true
		default:
			literals = append(literals, "")
		}
	}
	if escaped {
		literals[len(literals)-1] += "\\"
	}
	return literals
}

// neverWild reports whether * must not match a character. The replacement character stands for bytes that other
// programs may read differently.
func neverWild(r rune) bool {
	return unicode.IsControl(r) || r == utf8.RuneError || strings.ContainsRune(";&|<>$`", r)
}

// hasParentSegment reports whether text contains the path segment "..", even if it is URL-encoded.
func hasParentSegment(text string) bool {
	decoded := strings.NewReplacer("%2e", ".", "%2f", "/", "%5c", "/", "\\", "/").Replace(strings.ToLower(text))
	return slices.Contains(strings.Split(decoded, "/"), "..")
}
