// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package declarations

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// elsewhere lists the fields of specs that no program reads, with the reason.
var elsewhere = map[string]string{
	"AgentTaskSpec.Group": "the operator writes it, so that people and programs can find the tasks of one fan-out",
}

// TestSpecFieldsAreRead finds fields of specs that users can set and that have no effect.
func TestSpecFieldsAreRead(t *testing.T) {
	s := read(t)
	fields := specFields(s.api)
	if len(fields) < 50 {
		t.Fatalf("found only %d fields of specs", len(fields))
	}
	readBy := map[types.Object]bool{}
	s.inspect(func(p program, node ast.Node, above []ast.Node) {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return
		}
		selection := p.info.Selections[selector]
		if selection == nil || selection.Kind() != types.FieldVal {
			return
		}
		// The embedded structs on the path are always read.
		path := selection.Index()
		for _, field := range fieldsOn(selection.Recv(), path[:len(path)-1]) {
			readBy[field] = true
		}
		if !assigned(selector, above) {
			readBy[selection.Obj()] = true
		}
	})
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		used, excused := readBy[fields[name]], elsewhere[name] != ""
		if !used && !excused {
			t.Errorf("%s is accepted, but no program reads it: use it or delete it", name)
		}
		if used && excused {
			t.Errorf("%s is read: remove the exception", name)
		}
	}
	for name := range elsewhere {
		if fields[name] == nil {
			t.Errorf("the exception %s is not a field of a spec", name)
		}
	}
}

// assigned reports whether an expression is only written to, on the left of an assignment.
func assigned(expression ast.Expr, above []ast.Node) bool {
	if len(above) == 0 {
		return false
	}
	assignment, ok := above[len(above)-1].(*ast.AssignStmt)
	return ok && slices.Contains(assignment.Lhs, expression)
}

func fieldsOn(t types.Type, path []int) []types.Object {
	var fields []types.Object
	for _, i := range path {
		if pointer, ok := t.Underlying().(*types.Pointer); ok {
			t = pointer.Elem()
		}
		structure, ok := t.Underlying().(*types.Struct)
		if !ok {
			return fields
		}
		field := structure.Field(i)
		fields, t = append(fields, field), field.Type()
	}
	return fields
}

// specFields returns the fields of the specs of all kinds, and of the API's own structs in them, by Type.Field.
func specFields(api *types.Package) map[string]types.Object {
	fields := map[string]types.Object{}
	for _, name := range api.Scope().Names() {
		kind, ok := underlyingStruct(api.Scope().Lookup(name).Type())
		if !ok {
			continue
		}
		for field := range kind.Fields() {
			// A kind has its spec in the field Spec; lists and other types have none.
			if field.Name() == "Spec" {
				collect(api, field.Type(), fields)
			}
		}
	}
	return fields
}

func collect(api *types.Package, t types.Type, fields map[string]types.Object) {
	switch t := t.(type) {
	case *types.Pointer:
		collect(api, t.Elem(), fields)
	case *types.Slice:
		collect(api, t.Elem(), fields)
	case *types.Map:
		collect(api, t.Elem(), fields)
	case *types.Named:
		structure, ok := underlyingStruct(t)
		if !ok || t.Obj().Pkg() != api {
			return
		}
		for field := range structure.Fields() {
			name := t.Obj().Name() + "." + field.Name()
			if _, known := fields[name]; known || strings.HasPrefix(field.Name(), "_") {
				continue
			}
			fields[name] = field
			collect(api, field.Type(), fields)
		}
	case *types.Alias:
		collect(api, types.Unalias(t), fields)
	}
}

func underlyingStruct(t types.Type) (*types.Struct, bool) {
	structure, ok := t.Underlying().(*types.Struct)
	return structure, ok
}
