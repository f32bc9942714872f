// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nestor-dev/nestor/test/stack"
)

// A program that is suddenly larger by a third usually links a call of reflect.Value.MethodByName with a variable name, for which the
// linker keeps all exported methods. `go build -ldflags=-dumpdep` prints what reaches it, marked with ReflectMethod.
func TestProgramsAreSmall(t *testing.T) {
	dir := t.TempDir()
	if err := stack.Build(t.Context(), dir, "./cmd/kubectl-nestor"); err != nil {
		t.Fatal(err)
	}
	// CEL, with which kubectl nestor tries policies, takes 4 MB, and the web page 1.2 MB if it was built before.
	for name, limit := range map[string]int64{"nestor-operator": 80e6, "nestor-gateway": 50e6, "kubectl-nestor": 45e6} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > limit {
			t.Errorf("%s has %d MB, at most %d are allowed", name, info.Size()/1e6, limit/1e6)
		}
	}
}
