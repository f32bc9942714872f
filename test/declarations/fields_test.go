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

// elsewhere are fields of specs that no program reads, with the reader that makes up for it.
var elsewhere = map[string]string{
	"AgentTaskSpec.Group": "the operator writes it, for people and programs that look for the tasks of one fan-out",
}

// TestSpecFieldsAreRead finds fields of specs that users can set and that make no difference.
func TestSpecFieldsAreRead(t *testing.T) {
	s := read(t)
	fields := specFields(s.api)
	if len(fields) < 50 {
		t.Fatalf("only %d fields of specs were found", len(fields))
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
		// The embedded structs on the way are read in any case.
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
			t.Errorf("%s is accepted, and no program reads it: wire it or delete it", name)
		}
		if used && excused {
			t.Errorf("%s is read: it is no exception any more", name)
		}
	}
	for name := range elsewhere {
		if fields[name] == nil {
			t.Errorf("the exception %s is no field of a spec", name)
		}
	}
}

// assigned says whether an expression is only written to: it stands on the left of an assignment.
func assigned(expression ast.Expr, above []ast.Node) bool {
	if len(above) == 0 {
		return false
	}
	assignment, ok := above[len(above)-1].(*ast.AssignStmt)
	return ok && slices.Contains(assignment.Lhs, expression)
}

// fieldsOn are the fields that a path of indexes leads through.
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

// specFields are the fields of the specs of all kinds, and of the API's own structs in them, by Type.Field.
func specFields(api *types.Package) map[string]types.Object {
	fields := map[string]types.Object{}
	for _, name := range api.Scope().Names() {
		kind, ok := structOf(api.Scope().Lookup(name).Type())
		if !ok {
			continue
		}
		for field := range kind.Fields() {
			// A kind has its spec in the field Spec; the lists and all else do not have one.
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
		structure, ok := structOf(t)
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

func structOf(t types.Type) (*types.Struct, bool) {
	structure, ok := t.Underlying().(*types.Struct)
	return structure, ok
}
