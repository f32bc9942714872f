// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pathmatch

import "strings"

// Path is a compiled pattern for a whole path.
type Path struct {
	parts []part
}

type part struct {
	deep bool // the component "**"
	name Name
}

// CompilePath compiles a pattern in which "/" separates components.
func CompilePath(pattern string) Path {
	var p Path
	for _, component := range split(pattern) {
		if len(component) >= 2 && strings.Trim(component, "*") == "" {
			// Several in a row mean the same as one, unless the last one has to match at least one component; keep
			// them all.
			p.parts = append(p.parts, part{deep: true})
			continue
		}
		p.parts = append(p.parts, part{name: CompileName(component)})
	}
	return p
}

// split splits a pattern at its slashes, including escaped ones, which mean the same, but not at those inside sets,
// which can never match.
func split(pattern string) []string {
	var components []string
	start := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '/':
			components = append(components, pattern[start:i])
			start = i + 1
		case '\\':
			if i+1 < len(pattern) && pattern[i+1] == '/' {
				components = append(components, pattern[start:i])
				start = i + 2
			}
			i++
		case '[':
			if _, end, ok := parseSet(pattern, i); ok {
				i = end
			}
		}
	}
	return append(components, pattern[start:])
}

// Match reports whether the pattern matches the whole path, which has no
// leading or trailing slash.
func (p Path) Match(path string) bool {
	parts := p.parts
	if len(parts) == 1 && !parts[0].deep {
		return !strings.Contains(path, "/") && parts[0].name.Match(path)
	}
	// As with "*" inside a name, only the latest "**" is ever retried.
	var deep []part
	resume, more := "", false
	rest, left := path, true
	for {
		if len(parts) > 0 && parts[0].deep {
			if len(parts) == 1 {
				return left
			}
			parts = parts[1:]
			deep, resume, more = parts, rest, left
			continue
		}
		if len(parts) == 0 && !left {
			return true
		}
		if len(parts) > 0 && left {
			name, after, more := strings.Cut(rest, "/")
			if parts[0].name.Match(name) {
				parts, rest, left = parts[1:], after, more
				continue
			}
		}
		if deep == nil || !more {
			return false
		}
		_, resume, more = strings.Cut(resume, "/")
		parts, rest, left = deep, resume, more
	}
}
