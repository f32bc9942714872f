// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pathmatch

import (
	"errors"
	"slices"
	"strings"
)

// maxAlternatives bounds the expansion of braces.
const maxAlternatives = 256

// Glob is a file glob: one or more path patterns.
type Glob struct {
	names []Name // patterns without "/", matched against the last component
	paths []Path
}

// CompileGlob compiles a file glob. A pattern without "/" matches a name at any depth; with "/" it matches the whole
// path. {a,b} are alternatives.
func CompileGlob(pattern string) (*Glob, error) {
	if pattern == "" {
		return nil, errors.New("glob is empty")
	}
	alternatives, err := expand(pattern)
	if err != nil {
		return nil, err
	}
	g := &Glob{}
	for _, a := range alternatives {
		a = strings.TrimPrefix(a, "./")
		if !strings.Contains(a, "/") {
			g.names = append(g.names, CompileName(a))
			continue
		}
		g.paths = append(g.paths, CompilePath(strings.TrimPrefix(a, "/")))
	}
	return g, nil
}

func (g *Glob) Match(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	return slices.ContainsFunc(g.names, func(n Name) bool { return n.Match(name) }) ||
		slices.ContainsFunc(g.paths, func(p Path) bool { return p.Match(path) })
}

func expand(pattern string) ([]string, error) {
	open, closing, commas := braces(pattern)
	if open < 0 {
		return []string{pattern}, nil
	}
	var out []string
	start := open + 1
	for _, end := range append(commas, closing) {
		rest, err := expand(pattern[:open] + pattern[start:end] + pattern[closing+1:])
		if err != nil {
			return nil, err
		}
		out = append(out, rest...)
		if len(out) > maxAlternatives {
			return nil, errors.New("glob has too many alternatives in braces; use several simpler globs")
		}
		start = end + 1
	}
	return out, nil
}

// braces finds the first balanced group and its commas; -1 if there is none.
func braces(pattern string) (open, closing int, commas []int) {
	depth := 0
	open = -1
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			if depth == 0 {
				open = i
			}
			depth++
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth == 0 {
				continue
			}
			depth--
			if depth == 0 {
				return open, i, commas
			}
		}
	}
	return -1, -1, nil
}
