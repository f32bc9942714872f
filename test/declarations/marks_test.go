// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package declarations

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPolicyProtectsOperatorAnnotations: the policy on marks lists the annotations that only the operator writes.
func TestPolicyProtectsOperatorAnnotations(t *testing.T) {
	root := filepath.Join("..", "..")
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "api", "v1beta1", "labels.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	ast.Inspect(file, func(node ast.Node) bool {
		group, ok := node.(*ast.GenDecl)
		if !ok {
			return true
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			doc := group.Doc.Text() + value.Doc.Text()
			if !strings.HasPrefix(value.Names[0].Name, "Annotation") || !strings.Contains(strings.Join(strings.Fields(doc), " "), "Only the operator writes it") {
				continue
			}
			name, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, name)
		}
		return false
	})
	policies, err := os.ReadFile(filepath.Join(root, "config", "operator", "policies.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)name: changedAnnotations.*?\[(.*?)\]`).FindSubmatch(policies)
	if list == nil {
		t.Fatal("the policy on marks has no list of annotations")
	}
	var protected []string
	for _, name := range regexp.MustCompile(`'([^']+)'`).FindAllSubmatch(list[1], -1) {
		protected = append(protected, string(name[1]))
	}
	slices.Sort(declared)
	slices.Sort(protected)
	if diff := cmp.Diff(declared, protected); diff != "" {
		t.Errorf("annotations that only the operator writes (-), and those of the policy (+):\n%s", diff)
	}
}
