// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"maps"
	"slices"
)

// Set is the registry of the tools that an agent may use. The zero Set is empty.
// It is immutable: Union returns a new set that shares the tools.
type Set struct {
	tools map[string]*Tool
}

// NewSet returns a set of tools, whose names must differ.
func NewSet(tools ...*Tool) (Set, error) {
	s := Set{tools: make(map[string]*Tool, len(tools))}
	for _, t := range tools {
		if _, twice := s.tools[t.Name()]; twice {
			return Set{}, fmt.Errorf("two tools are called %s", t.Name())
		}
		s.tools[t.Name()] = t
	}
	return s, nil
}

// Union returns the tools of s and of others, whose names must differ.
func (s Set) Union(others ...Set) (Set, error) {
	var tools []*Tool
	for _, set := range append([]Set{s}, others...) {
		tools = append(tools, set.Tools()...)
	}
	return NewSet(tools...)
}

func (s Set) Lookup(name string) (*Tool, bool) {
	t, ok := s.tools[name]
	return t, ok
}

// Names returns the tools' names in order.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s.tools)) }

// Tools returns the tools sorted by name, so that requests are identical and prompt caches hit.
func (s Set) Tools() []*Tool {
	tools := make([]*Tool, 0, len(s.tools))
	for _, name := range s.Names() {
		tools = append(tools, s.tools[name])
	}
	return tools
}

// WithContent returns the same tools with another source.
func (s Set) WithContent(content Content) Set {
	tools := make(map[string]*Tool, len(s.tools))
	for name, t := range s.tools {
		tools[name] = t.WithContent(content)
	}
	return Set{tools: tools}
}

func (s Set) Len() int { return len(s.tools) }
