// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPages checks that the page of each example says how to apply it and what to see, and that the list of examples has it.
func TestPages(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("..", "..", "docs", "tasks", "examples.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, demo, _ := strings.Cut(string(list), "The scripted model of the demo plays ")
	demo, _, _ = strings.Cut(demo, ".")
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
		if says := strings.Contains(demo, "`"+name+"`"); says != slices.Contains(inDemo, name) {
			t.Errorf("docs/tasks/examples.md says %t for %s in the demo", says, name)
		}
	}
}
