// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package declarations

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// agentStatuses are the statuses of chats, tasks, sub-agents and messages, which projection computes.
var agentStatuses = []string{"AgentChatStatus", "AgentTaskStatus", "SubAgentStatus", "AgentMessageStatus"}

const projection = module + "internal/projection"

// statusWriters maps each status to the package that copies it from projection to an object. A kind has one writer.
var statusWriters = map[string]string{
	"AgentChatStatus":    module + "internal/controller/agentchat",
	"AgentMessageStatus": module + "internal/controller/agentmessage",
}

// TestStatusesAreProjected finds statuses of agents that are constructed outside internal/projection: by assigning a field, by taking its
// address, or by a literal with fields. The controllers of the other kinds change the status of a projection.Run.
func TestStatusesAreProjected(t *testing.T) {
	s := read(t)
	statuses := map[types.Type]string{}
	for _, name := range agentStatuses {
		found := s.api.Scope().Lookup(name)
		if found == nil {
			t.Fatalf("the API has no %s", name)
		}
		statuses[found.Type()] = name
	}
	seen := 0
	s.inspect(func(p program, node ast.Node, above []ast.Node) {
		var changed []ast.Expr
		switch n := node.(type) {
		case *ast.AssignStmt:
			changed = n.Lhs
		case *ast.IncDecStmt:
			changed = []ast.Expr{n.X}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				changed = []ast.Expr{n.X}
			}
		case *ast.CompositeLit:
			if name := statuses[p.info.TypeOf(n)]; name != "" && len(n.Elts) > 0 {
				if p.path == projection {
					seen++
				} else {
					t.Errorf("%s: a literal of %s: compute it in internal/projection", s.fset.Position(n.Pos()), name)
				}
			}
		}
		for _, expression := range changed {
			_, address := node.(*ast.UnaryExpr)
			field, name := statusField(p, expression, statuses)
			if name == "" || p.path == projection {
				continue
			}
			if whole := field == "Status"; whole && (address || statusWriters[name] == p.path) {
				continue // status.Write takes a pointer to the whole status
			}
			t.Errorf("%s: %s of %s is changed: compute it in internal/projection", s.fset.Position(node.Pos()), field, name)
		}
	})
	if seen < len(agentStatuses)-1 {
		t.Errorf("found %d literals of statuses in projection: the test checks the wrong types", seen)
	}
}

// statusField returns the field that an expression selects, if it belongs to a status or is one.
func statusField(p program, expression ast.Expr, statuses map[types.Type]string) (field, status string) {
	for {
		switch e := expression.(type) {
		case *ast.ParenExpr:
			expression = e.X
			continue
		case *ast.IndexExpr:
			expression = e.X
			continue
		case *ast.StarExpr:
			expression = e.X
			continue
		case *ast.SelectorExpr:
			selection := p.info.Selections[e]
			if selection == nil || selection.Kind() != types.FieldVal {
				return "", ""
			}
			if name := statuses[pointee(selection.Recv())]; name != "" {
				return e.Sel.Name, name
			}
			if name := statuses[selection.Type()]; name != "" && strings.HasSuffix(e.Sel.Name, "Status") {
				return "Status", name
			}
			expression = e.X
			continue
		}
		return "", ""
	}
}

func pointee(t types.Type) types.Type {
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		return pointer.Elem()
	}
	return t
}
