// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitignore

import "strings"

// Stack holds the rules that apply in a directory: its own and those of the directories above it. The nil stack
// ignores nothing.
type Stack struct {
	rules *Rules
	base  int // length of the prefix that makes a path relative to the rules' directory
	above *Stack
}

// Push adds the rules of the directory dir, a path from the root of the tree ("." for the root itself). With nil
// rules it returns s.
func (s *Stack) Push(dir string, rules *Rules) *Stack {
	if rules == nil {
		return s
	}
	base := 0
	if dir != "." {
		base = len(dir) + 1
	}
	return &Stack{rules: rules, base: base, above: s}
}

// Ignored reports whether an entry is ignored. The path is the entry's path from
// the root of the tree; it must be below the directories that were pushed.
func (s *Stack) Ignored(path string, isDir bool) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for ; s != nil; s = s.above {
		if ignored, decided := s.rules.match(path[s.base:], name, isDir); decided {
			return ignored
		}
	}
	return false
}
