// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTutorialMatchesExample compares the files in the tutorial with those of the example, which test/examples applies.
func TestTutorialMatchesExample(t *testing.T) {
	t.Parallel()
	files := 0
	for _, p := range allPages(t) {
		if title(p) != "tasks/build-an-agent" {
			continue
		}
		for _, block := range p.Blocks {
			name := block.File()
			if name == "" {
				continue
			}
			files++
			want, err := os.ReadFile(filepath.Join(root, "examples", "bookkeeper", name))
			if err != nil {
				t.Error(err)
				continue
			}
			if _, text, _ := strings.Cut(block.Text, "\n"); text != string(want) {
				t.Errorf("%s:%d: %s differs from the example", p.Path, block.Line, name)
			}
		}
	}
	if files != 5 {
		t.Errorf("the tutorial has %d files, want 5", files)
	}
}
