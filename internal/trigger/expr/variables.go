// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"strings"

	"github.com/google/cel-go/common/ast"
)

// variablesOf returns the names of an expression that no macro of it declares.
func variablesOf(parsed *ast.AST) map[string]bool {
	names := map[string]bool{}
	for _, found := range ast.MatchDescendants(ast.NavigateAST(parsed), ast.KindMatcher(ast.IdentKind)) {
		name, global := strings.CutPrefix(found.AsIdent(), ".")
		if global || !declaredByMacro(found, name) {
			names[name] = true
		}
	}
	return names
}

// declaredByMacro reports whether a macro around an expression declares a name. The range of a macro is outside of it.
func declaredByMacro(inner ast.NavigableExpr, name string) bool {
	for {
		outer, ok := inner.Parent()
		if !ok {
			return false
		}
		if outer.Kind() == ast.ComprehensionKind {
			macro := outer.AsComprehension()
			outside := inner.ID() == macro.IterRange().ID() || inner.ID() == macro.AccuInit().ID()
			if !outside && (name == macro.IterVar() || name == macro.IterVar2() || name == macro.AccuVar()) {
				return true
			}
		}
		inner = outer
	}
}
