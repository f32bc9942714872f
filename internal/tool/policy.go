// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"path"
)

// Policy says which tools an agent may use, by globs on the names that the model
// sees: '*' is any text, '?' any character, [a-c] a class. Deny wins over Allow.
type Policy struct {
	// Allow lists what is allowed; empty allows nothing.
	Allow []string
	// Deny lists exceptions from Allow.
	Deny []string
}

// Validate reports a glob that is malformed, and so would never match.
func (p Policy) Validate() error {
	for _, globs := range [][]string{p.Allow, p.Deny} {
		for _, glob := range globs {
			if _, err := path.Match(glob, ""); err != nil {
				return fmt.Errorf("tool pattern %q is malformed: use a name such as read or a glob such as github__*", glob)
			}
		}
	}
	return nil
}

// Allows reports whether the policy lets an agent use the tool called name. A
// malformed glob in Deny denies everything, so that a typo opens nothing.
func (p Policy) Allows(name string) bool {
	for _, glob := range p.Deny {
		if matched, err := path.Match(glob, name); matched || err != nil {
			return false
		}
	}
	return MatchAny(p.Allow, name)
}

// MatchAny reports whether a glob matches name, as in a policy.
func MatchAny(globs []string, name string) bool {
	for _, glob := range globs {
		if matched, err := path.Match(glob, name); matched && err == nil {
			return true
		}
	}
	return false
}
