// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed scripts/*.yaml
var builtin embed.FS

// BuiltinNames lists the embedded scripts, sorted.
func BuiltinNames() []string {
	entries, err := builtin.ReadDir("scripts")
	if err != nil {
		panic(err) // the directory is part of the binary
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Builtin returns an embedded script.
func Builtin(name string) (*Script, error) {
	file := "scripts/" + name + ".yaml"
	data, err := builtin.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("there is no built-in script %q; there are %s", name, strings.Join(BuiltinNames(), ", "))
	}
	return Parse(file, data)
}
