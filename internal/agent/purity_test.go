// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
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
	"github.com/nestor-dev/nestor/internal/money":     "amounts of different currencies have no sum, here and in quotas",
	"github.com/nestor-dev/nestor/internal/plainjson": "the encoding of texts that are stored once",
	"github.com/nestor-dev/nestor/internal/shorten":   "how texts are cut",
	"github.com/nestor-dev/nestor/internal/tokens":    "budgets of the core and the engine must use the same estimate",
}

func TestTheCoreIsPure(t *testing.T) {
	files := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		checkPure(t, files, path, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkPure checks a file of the core or of a package below it.
func checkPure(t *testing.T, files *token.FileSet, name string, file *ast.File) {
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if reason, ok := banned[path]; ok {
			t.Errorf("%s imports %s: %s", name, path, reason)
		}
		below := strings.HasPrefix(path, "github.com/nestor-dev/nestor/internal/agent/")
		if !below && shared[path] == "" && strings.Contains(strings.Split(path, "/")[0], ".") {
			t.Errorf("%s imports %s: the core uses only the standard library", name, path)
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
