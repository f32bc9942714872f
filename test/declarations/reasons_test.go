// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package declarations

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reason is a condition reason that the API declares: a constant Reason..., or an ErrorKind, which is the reason of a failed run.
type reason struct {
	name, value string
}

func reasons(api *types.Package) []reason {
	var all []reason
	for _, name := range api.Scope().Names() {
		declared, ok := api.Scope().Lookup(name).(*types.Const)
		if !ok || declared.Val().Kind() != constant.String {
			continue
		}
		if strings.HasPrefix(name, "Reason") || strings.HasSuffix(declared.Type().String(), ".ErrorKind") {
			all = append(all, reason{name, constant.StringVal(declared.Val())})
		}
	}
	return all
}

// unset and untested are exceptions, each with a justification.
var unset, untested = map[string]string{}, map[string]string{}

// TestReasonsAreSet finds reasons that the API declares and that no program uses except in comparisons.
func TestReasonsAreSet(t *testing.T) {
	s := read(t)
	all := reasons(s.api)
	if len(all) < 30 {
		t.Fatalf("found only %d reasons", len(all))
	}
	set := map[string]bool{}
	s.inspect(func(p program, node ast.Node, above []ast.Node) {
		identifier, ok := node.(*ast.Ident)
		if !ok || compared(above) {
			return
		}
		if used, ok := p.info.Uses[identifier].(*types.Const); ok && used.Val().Kind() == constant.String && namesAReason(used) {
			set[constant.StringVal(used.Val())] = true
		}
	})
	for _, r := range all {
		if !set[r.value] && unset[r.name] == "" {
			t.Errorf("%s is declared, but no program sets it: set it where it is documented, or delete it with its documentation", r.name)
		}
		if set[r.value] && unset[r.name] != "" {
			t.Errorf("%s is set: remove the exception", r.name)
		}
	}
}

// TestReasonsHaveARow finds conditions whose reason is not in the table: reasons of packages whose values are converted, and constant
// texts where a reason is expected.
func TestReasonsHaveARow(t *testing.T) {
	s := read(t)
	rows := map[string]bool{}
	for _, r := range reasons(s.api) {
		rows[r.value] = true
	}
	checked := 0
	s.inspect(func(p program, node ast.Node, _ []ast.Node) {
		for _, expression := range reasonsIn(p, node) {
			value := p.info.Types[expression].Value
			if value == nil || value.Kind() != constant.String || constant.StringVal(value) == "" {
				continue
			}
			if checked++; !rows[constant.StringVal(value)] {
				t.Errorf("%s: the reason %s has no row in api/v1beta1/conditions.yaml", s.fset.Position(expression.Pos()), value)
			}
		}
		identifier, ok := node.(*ast.Ident)
		if !ok {
			return
		}
		if used, ok := p.info.Uses[identifier].(*types.Const); ok && used.Val().Kind() == constant.String && namesAReason(used) {
			if value := constant.StringVal(used.Val()); !rows[value] {
				t.Errorf("%s: %s has no row in api/v1beta1/conditions.yaml", s.fset.Position(identifier.Pos()), used.Name())
			}
		}
	})
	if checked < 30 {
		t.Errorf("found only %d constant reasons: the test reads the wrong places", checked)
	}
}

// reasonSetters are the packages that decide on conditions.
var reasonSetters = []string{"internal/projection", "internal/controller", "internal/cluster/resolve"}

// reasonsIn returns the expressions of a node that are reasons of conditions: fields Reason of literals, assignments to such a field, and
// arguments for a parameter named reason.
func reasonsIn(p program, node ast.Node) []ast.Expr {
	path := strings.TrimPrefix(p.path, module)
	if !slices.ContainsFunc(reasonSetters, func(setter string) bool { return strings.HasPrefix(path, setter) }) {
		return nil
	}
	var found []ast.Expr
	switch n := node.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Reason" && !ofFiring(p, n.Value) {
			found = append(found, n.Value)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if field, ok := left.(*ast.SelectorExpr); ok && field.Sel.Name == "Reason" && len(n.Rhs) == len(n.Lhs) {
				found = append(found, n.Rhs[i])
			}
		}
	case *ast.CallExpr:
		signature, ok := p.info.TypeOf(n.Fun).(*types.Signature)
		if !ok || signature.Params().Len() > len(n.Args) {
			return nil
		}
		for i := range signature.Params().Len() {
			parameter := signature.Params().At(i)
			if parameter.Name() == "reason" && parameter.Pkg() != nil && strings.HasPrefix(parameter.Pkg().Path()+"/", module) && !ofFiring(p, n.Args[i]) {
				found = append(found, n.Args[i])
			}
		}
	}
	return found
}

// ofFiring reports whether a reason is one of a firing that was dropped, or of its Event: these are not reasons of conditions.
func ofFiring(p program, expression ast.Expr) bool {
	if call, ok := expression.(*ast.CallExpr); ok && len(call.Args) == 1 { // a conversion
		expression = call.Args[0]
	}
	if strings.HasSuffix(p.info.TypeOf(expression).String(), ".DropReason") {
		return true
	}
	identifier, ok := expression.(*ast.Ident)
	return ok && identifier.Name == "reasonNotFired"
}

// namesAReason reports whether a constant is a reason: one of the API's, or one of a package whose values are converted to reasons. Other
// constants, such as phases, may have the same value.
func namesAReason(c *types.Const) bool {
	switch c.Pkg().Path() {
	case apiDir:
		return strings.HasPrefix(c.Name(), "Reason") || strings.HasSuffix(c.Type().String(), ".ErrorKind")
	case module + "internal/agent":
		return strings.HasSuffix(c.Type().String(), "agent.ErrorKind") || strings.HasSuffix(c.Type().String(), "agent.PauseReason")
	case module + "internal/ledger":
		return strings.HasPrefix(c.Name(), "Reason")
	}
	return false
}

// compared reports whether an expression is only compared with, or selects a case.
func compared(above []ast.Node) bool {
	for i := len(above) - 1; i >= 0; i-- {
		switch n := above[i].(type) {
		case *ast.SelectorExpr, *ast.ParenExpr:
			continue
		case *ast.BinaryExpr:
			return n.Op == token.EQL || n.Op == token.NEQ
		case *ast.CaseClause:
			// The list of a case is compared. Its body is not, but then a statement is in between.
			return true
		default:
			return false
		}
	}
	return false
}

// TestReasonsAreTested finds reasons that no test checks. A test names the constant or contains its value.
func TestReasonsAreTested(t *testing.T) {
	words := testWords(t)
	phases := otherValues(read(t).api)
	for _, r := range reasons(read(t).api) {
		// A word that is also a phase is no evidence.
		tested := words.names[r.name] || words.names["Reason"+strings.TrimPrefix(r.value, "Ledger")] || words.reasons[r.value] || (words.texts[r.value] && !phases[r.value])
		if !tested && untested[r.name] == "" {
			t.Errorf("no test asserts %s (%q): write one that reaches the code that sets it", r.name, r.value)
		}
		if tested && untested[r.name] != "" {
			t.Errorf("%s is tested: remove the exception", r.name)
		}
	}
}

func otherValues(api *types.Package) map[string]bool {
	values := map[string]bool{}
	for _, name := range api.Scope().Names() {
		declared, ok := api.Scope().Lookup(name).(*types.Const)
		if ok && declared.Val().Kind() == constant.String && !namesAReason(declared) {
			values[constant.StringVal(declared.Val())] = true
		}
	}
	return values
}

// tested contains the words of the tests: names of the API's constants, words within texts, and words that are used as a reason.
type tested struct{ names, texts, reasons map[string]bool }

var (
	word = regexp.MustCompile(`[A-Z][A-Za-z]+`)
	// A reason in text: as YAML or JSON, or after the condition and its status, as the suites print it.
	reasonWord = regexp.MustCompile(`(?i:reason)"?[:=]\s*"?([A-Z][A-Za-z]+)|\b(?:Ready|Succeeded|Reconciling|Stalled|WorkspaceChangesLost)[ =](?:True|False|Unknown) ([A-Z][A-Za-z]+)`)
)

func testWords(t *testing.T) tested {
	t.Helper()
	found := tested{names: map[string]bool{}, texts: map[string]bool{}, reasons: map[string]bool{}}
	for _, dir := range []string{"internal", "cmd", "test", "hack"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "declarations"):
				return filepath.SkipDir
			case strings.HasSuffix(path, "_test.go"):
				return found.readTest(path)
			case strings.Contains(path, "testdata") && (strings.HasSuffix(path, ".txt") || strings.HasSuffix(path, ".golden") || strings.HasSuffix(path, ".txtar")):
				data, err := os.ReadFile(path)
				found.hear(string(data))
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func (f tested) readTest(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.Ident:
			f.names[n.Name] = true
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				f.hear(text)
			}
		}
		return true
	})
	return nil
}

func (f tested) hear(text string) {
	for _, found := range word.FindAllString(text, -1) {
		f.texts[found] = true
	}
	for _, found := range reasonWord.FindAllStringSubmatch(text, -1) {
		f.reasons[found[1]+found[2]] = true
	}
}
