// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
)

// banned lists packages of the standard library that the core must not import, with the reasons.
var banned = map[string]string{
	"context":      "there is nothing to cancel: a step does not block",
	"log":          "the driver logs; a step returns effects",
	"log/slog":     "the driver logs; a step returns effects",
	"math/rand":    "the same events must lead to the same state",
	"math/rand/v2": "the same events must lead to the same state",
	"net":          "a step does no I/O",
	"net/http":     "a step does no I/O",
	"os":           "a step does no I/O",
	"runtime":      "a step does not depend on the machine",
	"sync":         "a step runs no goroutines and shares nothing",
	"sync/atomic":  "a step runs no goroutines and shares nothing",
	"time":         "time arrives in events",
}

// shared lists the packages of this module that the core may import, with the reasons. They are pure themselves.
var shared = map[string]string{
	"github.com/nestor-dev/nestor/internal/plainjson": "the encoding of texts that are stored once",
	"github.com/nestor-dev/nestor/internal/shorten":   "how texts are cut",
	"github.com/nestor-dev/nestor/internal/tokens":    "budgets of the core and the engine must use the same estimate",
}

func TestTheCoreIsPure(t *testing.T) {
	notTests := func(info fs.FileInfo) bool { return !strings.HasSuffix(info.Name(), "_test.go") }
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), ".go") || !notTests(info) {
			continue
		}
		file, err := parser.ParseFile(files, entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if reason, ok := banned[path]; ok {
				t.Errorf("%s imports %s: %s", entry.Name(), path, reason)
			}
			if shared[path] == "" && strings.Contains(strings.Split(path, "/")[0], ".") {
				t.Errorf("%s imports %s: the core uses only the standard library", entry.Name(), path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%s: a step starts no goroutine and uses no channel", files.Position(n.Pos()))
			}
			return true
		})
	}
}
