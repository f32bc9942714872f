// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command conditions generates what follows from the table of conditions and reasons: constants, the table as Go data, the
// reference, and the health checks of GitOps tools.
//
//	conditions ROOT
package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"
)

const source = "api/v1beta1/conditions.yaml"

// outputs are the generated files, relative to the root of the repository.
var outputs = map[string]func(table) string{
	"api/v1beta1/zz_generated.conditions.go":      constants,
	"internal/conditions/zz_generated.reasons.go": data,
	"docs/reference/conditions.md":                reference,
	"config/gitops/argocd/argocd-cm.yaml":         argocd,
	"config/gitops/flux/team.yaml":                flux,
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: conditions ROOT")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "conditions:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	files, err := generate(filepath.Join(root, source))
	if err != nil {
		return err
	}
	for path, content := range files {
		if err := os.WriteFile(filepath.Join(root, path), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the content of the generated files by their paths.
func generate(path string) (map[string]string, error) {
	t, err := read(path)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for path, content := range outputs {
		files[path] = content(t)
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		formatted, err := format.Source([]byte(files[path]))
		if err != nil {
			return nil, fmt.Errorf("format %s: %w", path, err)
		}
		files[path] = string(formatted)
	}
	return files, nil
}
