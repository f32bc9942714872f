// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
)

// Bounds of an expression. The compiler cannot be interrupted.
const (
	// maxNodes bounds the operands and operators of an expression, with those of expanded macros.
	maxNodes = 500
	// maxLoops bounds the macros that loop: each adds a level to the type of its result.
	maxLoops = 16
	// maxNesting bounds the list and map literals within each other: the time of the compiler grows with its cube.
	maxNesting = 32
	// maxComputedKeys bounds the map literals whose keys are not constants. The compiler compares types, and the type
	// of a map contains those of its keys and values: if the keys are maps, it doubles in size with each literal.
	maxComputedKeys = 4
)

// tooComplex returns why an expression must not be compiled, or "".
func tooComplex(parsed *ast.AST) string {
	nodes, loops, computed := 0, 0, 0
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		nodes++
		switch e.Kind() {
		case ast.ComprehensionKind:
			loops++
		case ast.MapKind:
			if slices.ContainsFunc(e.AsMap().Entries(), func(entry ast.EntryExpr) bool {
				return entry.AsMapEntry().Key().Kind() != ast.LiteralKind
			}) {
				computed++
			}
		}
	}))
	switch {
	case nodes > maxNodes:
		return fmt.Sprintf("the expression has more than %d operands and operators: shorten it", maxNodes)
	case loops > maxLoops:
		return fmt.Sprintf("the expression has more than %d macros that loop, such as map and exists", maxLoops)
	case nesting(ast.NavigateAST(parsed)) > maxNesting:
		return fmt.Sprintf("the expression has more than %d list and map literals within each other", maxNesting)
	case computed > maxComputedKeys:
		return fmt.Sprintf("the expression has more than %d map literals with computed keys", maxComputedKeys)
	}
	return ""
}

// nesting returns how many list and map literals of an expression are within each other.
func nesting(expression ast.NavigableExpr) int {
	deepest := 0
	for _, child := range expression.Children() {
		deepest = max(deepest, nesting(child))
	}
	if kind := expression.Kind(); kind == ast.ListKind || kind == ast.MapKind {
		deepest++
	}
	return deepest
}
