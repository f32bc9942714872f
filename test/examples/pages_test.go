// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPages checks that the page of each example says how to apply it and what to see, and that the list of examples has it.
func TestPages(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("..", "..", "docs", "tasks", "examples.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range played {
		page, err := os.ReadFile(filepath.Join(folder, name, "README.md"))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range []string{"# ", "kubectl apply -k examples/" + name + "\n", "\nYou see "} {
			if !strings.Contains(string(page), want) {
				t.Errorf("the page of %s lacks %q", name, want)
			}
		}
		if link := "](../../examples/" + name + ")"; !strings.Contains(string(list), link) {
			t.Errorf("docs/tasks/examples.md lacks %s", name)
		}
	}
}
