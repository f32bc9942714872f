// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// Orchestrator is the default role of a chat, General that of a spawned task.
const (
	Orchestrator = "orchestrator"
	General      = "general"
)

//go:embed roles/*.md
var files embed.FS

// BuiltIn returns the built-in role called name. Each caller gets a copy.
func BuiltIn(name string) (Role, bool) {
	content, err := files.ReadFile("roles/" + name + ".md")
	if err != nil {
		return Role{}, false
	}
	r, err := parse(content)
	if err != nil {
		// The files are embedded, and a test parses all of them.
		panic(fmt.Sprintf("built-in role %s: %v", name, err))
	}
	return r, true
}

// Names returns the names of the built-in roles in order.
func Names() []string {
	entries, err := fs.ReadDir(files, "roles")
	if err != nil {
		panic(fmt.Sprintf("built-in roles: %v", err))
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())))
	}
	return names
}

// parse parses a role from Markdown with YAML front matter.
func parse(content []byte) (Role, error) {
	text, ok := strings.CutPrefix(string(content), "---\n")
	front, prompt, closed := strings.Cut(text, "\n---\n")
	if !ok || !closed {
		return Role{}, fmt.Errorf("no front matter between lines of ---")
	}
	var r Role
	if err := yaml.UnmarshalStrict([]byte(front), &r); err != nil {
		return Role{}, fmt.Errorf("read front matter: %w", err)
	}
	r.SystemPrompt = strings.TrimSpace(prompt)
	return r, nil
}
