// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"embed"
	"fmt"
	"slices"
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

// Demo returns all embedded scripts in the order for the demo: the tour, whose rules are specific to one story, comes
// first, and the catch-all script last.
func Demo() ([]*Script, error) {
	const first, last = "tour", "demo"
	others := slices.DeleteFunc(BuiltinNames(), func(n string) bool { return n == first || n == last })
	var scripts []*Script
	for _, name := range slices.Concat([]string{first}, others, []string{last}) {
		script, err := Builtin(name)
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, script)
	}
	return scripts, nil
}

func Builtin(name string) (*Script, error) {
	file := "scripts/" + name + ".yaml"
	data, err := builtin.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("there is no built-in script %q; there are %s", name, strings.Join(BuiltinNames(), ", "))
	}
	return Parse(file, data)
}
