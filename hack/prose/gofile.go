// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// goPassages returns the prose of a Go file. A comment is one passage, so that a phrase may span lines.
func goPassages(name string, source []byte) []passage {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments)
	if err != nil {
		return []passage{{1, err.Error(), compile(``, ``, ` `, [][2]string{{`(?s).+`, `a file that parses`}})}}
	}
	line := func(n ast.Node) int { return files.Position(n.Pos()).Line }
	var list []passage
	for _, group := range file.Comments {
		var text strings.Builder
		for i, c := range group.List {
			if i > 0 {
				text.WriteString(strings.Repeat("\n", line(c)-line(group.List[i-1])))
			}
			text.WriteString(c.Text)
		}
		list = append(list, passage{line(group), text.String(), phraseRules})
	}
	test := isTest(name)
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.CallExpr:
			if title := specTitle(n); test && title != nil {
				list = append(list, passage{line(title), text(title), phraseRules})
			}
		case *ast.BasicLit:
			if !test && n.Kind == token.STRING {
				list = append(list, passage{line(n), text(n), phraseRules})
			}
		case *ast.FuncDecl:
			list = append(list, passage{line(n), words(n.Name.Name), nameRules})
			if test && strings.HasPrefix(n.Name.Name, "Test") {
				list = append(list, passage{line(n), words(n.Name.Name), testNameRules})
			}
		case *ast.TypeSpec:
			list = append(list, passage{line(n), words(n.Name.Name), nameRules})
		case *ast.Field:
			for _, field := range n.Names {
				list = append(list, passage{line(field), words(field.Name), nameRules})
			}
		}
		return true
	})
	return list
}

// isTest reports whether a file is part of a test, or of a package that only tests import.
func isTest(name string) bool {
	return strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test/") || strings.HasPrefix(name, "hack/prose/") ||
		slices.ContainsFunc(strings.Split(name, "/"), func(dir string) bool { return dir == "conformance" || strings.HasSuffix(dir, "test") })
}

var specs = []string{"Describe", "DescribeTable", "Context", "When", "It", "Specify", "Entry"}

// specTitle returns the title of a Ginkgo spec, or nil.
func specTitle(call *ast.CallExpr) *ast.BasicLit {
	function, ok := call.Fun.(*ast.Ident)
	if !ok || !slices.Contains(specs, function.Name) || len(call.Args) == 0 {
		return nil
	}
	title, _ := call.Args[0].(*ast.BasicLit)
	return title
}

func text(literal *ast.BasicLit) string {
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return literal.Value
	}
	return value
}

var word = regexp.MustCompile(`[A-Z]+(?:[a-z]+|\b|[0-9_])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+`)

// words separates the words of a name by spaces.
func words(name string) string { return strings.Join(word.FindAllString(name, -1), " ") }
