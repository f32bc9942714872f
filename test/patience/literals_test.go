// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package patience

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// longest is the longest wait that a test may write as a literal.
const longest = 5 * time.Second

// excused lists the files in which a literal is longer, each with the reason.
var excused = map[string]string{
	"test/attacks/doors_requests_test.go": "the connection must end before the gateway's own limit does",
	"test/attacks/providers_test.go":      "the providers send gigabytes",
	"test/bench/bare/bare.go":             "a benchmark drains an engine with many agents",
	"test/bench/scenario/waiting.go":      "the CPU time of an idle operator is measured over this time",
	"test/chaos/replicas_test.go":         "an operator ends even without the API server and the ledger, within its own limits",
	"test/chaos/toolserver_test.go":       "a fault: a tool that does not return",
	"test/docs/commands_test.go":          "a page is a sequence of commands, each with its own limit",
	"test/e2e/publish_test.go":            "a watch that ends with the spec",
	"test/e2e/suite_test.go":              "a real cluster pulls images and starts pods",
	"test/e2e/tally_test.go":              "a real cluster starts many pods",
	"test/flows/quotas_test.go":           "the run's limit of 5 seconds must pass",
}

// waits maps the functions that wait to the position of the argument that limits them; -1 is any.
var waits = map[string]int{
	"WithTimeout": -1, "WithTimeoutCause": -1, "PollUntilContextTimeout": 2, "After": 0, "NewTimer": 0, "AfterFunc": 0,
	"Eventually": -1, "Consistently": -1, "SetDefaultEventuallyTimeout": 0, "NodeTimeout": 0, "SpecTimeout": 0,
}

// TestWaits_LimitsComeFromPatience finds tests that wait longer than patience allows for a condition.
func TestWaits_LimitsComeFromPatience(t *testing.T) {
	const root = "../.."
	used := map[string]bool{}
	for _, dir := range []string{"api", "cmd", "hack", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !isTest(path) {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
			for _, found := range literals(t, path) {
				used[name] = true
				if excused[name] == "" {
					t.Errorf("%s:%s", name, found)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(excused)) {
		if !used[name] {
			t.Errorf("%s has no long wait: remove the exception", name)
		}
	}
}

// isTest reports whether a file is part of a test or of what tests start.
func isTest(path string) bool {
	return strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".go") && strings.Contains(filepath.ToSlash(path), "../test/")
}

// literals returns the waits of a file whose limit is a long constant.
func literals(t *testing.T, path string) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, imported := range file.Imports {
		if imported.Path.Value == `"testing/synctest"` {
			return nil // its time is fake
		}
	}
	constants := map[string]ast.Expr{}
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
			for i, name := range spec.Names {
				constants[name.Name] = spec.Values[i]
			}
		}
		return true
	})
	var found []string
	add := func(at ast.Node, limit ast.Expr) {
		if length, ok := duration(limit, constants); ok && length > longest {
			found = append(found, strconv.Itoa(files.Position(at.Pos()).Line)+": a test waits up to "+length.String()+": use patience.Limit()")
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			position, ok := waits[called(node)]
			for i, argument := range node.Args {
				if ok && (position < 0 || position == i) {
					add(node, argument)
				}
			}
			if name := called(node); strings.HasPrefix(name, "Set") && strings.HasSuffix(name, "Deadline") && len(node.Args) == 1 {
				if sum, ok := node.Args[0].(*ast.CallExpr); ok && called(sum) == "Add" {
					add(node, sum.Args[0])
				}
			}
		case *ast.BinaryExpr: // time.Since(began) > limit, in a loop
			if since, ok := node.X.(*ast.CallExpr); ok && node.Op == token.GTR && called(since) == "Since" {
				add(node, node.Y)
			}
		}
		return true
	})
	return found
}

func called(call *ast.CallExpr) string {
	switch function := call.Fun.(type) {
	case *ast.Ident:
		return function.Name
	case *ast.SelectorExpr:
		return function.Sel.Name
	}
	return ""
}

// duration evaluates a constant product such as 2*time.Minute.
func duration(expression ast.Expr, constants map[string]ast.Expr) (time.Duration, bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		n, err := strconv.ParseInt(e.Value, 0, 64)
		return time.Duration(n), err == nil
	case *ast.Ident:
		value, ok := constants[e.Name]
		if !ok {
			return 0, false
		}
		return duration(value, nil)
	case *ast.SelectorExpr:
		unit, ok := map[string]time.Duration{"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}[e.Sel.Name]
		return unit, ok
	case *ast.BinaryExpr:
		x, known := duration(e.X, constants)
		y, ok := duration(e.Y, constants)
		return x * y, known && ok && e.Op == token.MUL
	}
	return 0, false
}
