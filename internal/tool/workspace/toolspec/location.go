// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolspec

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
)

// Location is the argument that all tools have in common.
type Location struct {
	Cwd string `json:"cwd,omitempty" jsonschema:"directory that paths are relative to, itself relative to where you work: the workspace root, unless you were given a working directory"`
}

// Resolve returns the path of a name relative to the root.
func (p Location) Resolve(name string) (string, error) { return fsroot.Resolve(p.Cwd, name) }

// Display returns a path relative to cwd, as the caller would write it.
func (p Location) Display(path string) string {
	cwd, err := fsroot.Resolve(p.Cwd, "")
	if err == nil && cwd != "." {
		path = strings.TrimPrefix(path, cwd+"/")
	}
	return fsroot.Display(path)
}
