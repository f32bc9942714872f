// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"os"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/test/stack"
)

// built is a shared directory, so that the programs are linked only once.
var built struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // a leftover in the temporary directory is harmless
	}
	os.Exit(code)
}

// programs returns a directory with the programs that the scenarios run.
func programs(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "nestor-bench-programs-"); built.err == nil { //nolint:usetesting // shared by tests
			built.err = stack.Build(t.Context(), built.dir, ToolPackage)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}
