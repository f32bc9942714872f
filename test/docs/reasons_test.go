// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reasonRow matches a reason in the first column of a table.
var reasonRow = regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z]+)` \\|")

// TestEveryReasonIsExplained compares the tables of the troubleshooting page with the reasons and error kinds of the
// API.
func TestEveryReasonIsExplained(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "tasks", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(string(text), "\n## Reasons\n")
	got := map[string]bool{}
	for _, found := range reasonRow.FindAllStringSubmatch(tables, -1) {
		if got[found[1]] {
			t.Errorf("%s is explained twice", found[1])
		}
		got[found[1]] = true
	}
	want := constants(t, "condition_types.go", "Reason")
	for kind := range constants(t, "shared_types.go", "Error") {
		want[kind] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the reasons in the API and those that are explained differ: %s", diff)
	}
}

// constants returns the values of the API's constants whose names have a prefix.
func constants(t *testing.T, file, prefix string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "api", "v1beta1", file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		values[value] = true
		return true
	})
	return values
}
