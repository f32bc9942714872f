// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// These tests hold the Go source of the API to the conventions that Kube-API-Linter checks elsewhere;
// schema_conventions_test.go does the same with the generated CRDs.

// camelCase is how enum values and reasons are written.
var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z]*$`)

// markerLine is a line of a comment that speaks to a generator, not to people.
var markerLine = regexp.MustCompile(`(?m)^\+\S+.*$`)

// source is the parsed Go source of the API.
func source(t *testing.T) []*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasPrefix(name, "zz_generated") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// eachSpec calls visit for everything that is declared with a keyword, with the comment of its declaration.
func eachSpec(t *testing.T, keyword token.Token, visit func(spec ast.Spec, comment string)) {
	t.Helper()
	for _, file := range source(t) {
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != keyword {
				continue
			}
			for _, spec := range general.Specs {
				visit(spec, text(general.Doc))
			}
		}
	}
}

// eachType calls visit for every type declaration with its comment, markers included.
func eachType(t *testing.T, visit func(spec *ast.TypeSpec, comment string)) {
	t.Helper()
	eachSpec(t, token.TYPE, func(spec ast.Spec, comment string) { visit(spec.(*ast.TypeSpec), comment) })
}

// text returns the lines of a comment without slashes; unlike Text it keeps markers.
func text(comment *ast.CommentGroup) string {
	if comment == nil {
		return ""
	}
	var lines []string
	for _, line := range comment.List {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line.Text, "//")))
	}
	return strings.Join(lines, "\n")
}

func TestEveryTypeIsDocumented(t *testing.T) {
	eachType(t, func(spec *ast.TypeSpec, comment string) {
		if !strings.HasPrefix(comment, spec.Name.Name+" ") {
			t.Errorf("the comment of %s should begin with its name", spec.Name)
		}
		for _, marker := range markerLine.FindAllString(comment, -1) {
			if strings.Contains(marker, "XValidation") && !strings.Contains(marker, ",message=") {
				t.Errorf("%s has a rule without a message for people: %s", spec.Name, marker)
			}
		}
	})
}

func TestEveryFieldFollowsTheConventions(t *testing.T) {
	eachType(t, func(spec *ast.TypeSpec, _ string) {
		structure, ok := spec.Type.(*ast.StructType)
		// A list is made for machines: Kubernetes defines what it looks like.
		if !ok || strings.HasSuffix(spec.Name.Name, "List") {
			return
		}
		for _, field := range structure.Fields.List {
			if len(field.Names) == 1 { // else embedded: checked where it is declared, or by Kubernetes
				checkField(t, spec.Name.Name, field)
			}
		}
	})
}

func checkField(t *testing.T, owner string, field *ast.Field) {
	t.Helper()
	place, comment := owner+"."+field.Names[0].Name, text(field.Doc)
	tag, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(reflect.StructTag(tag).Get("json"), ",")
	name, options := parts[0], parts[1:]
	if !strings.HasPrefix(comment, name+" ") {
		t.Errorf("the comment of %s should begin with %q", place, name)
	}
	optional, required := strings.Contains(comment, "+optional"), strings.Contains(comment, "+required")
	if optional == required {
		t.Errorf("%s should be marked either +optional or +required", place)
	}
	omitted := slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero")
	if optional && !omitted {
		t.Errorf("%s is optional, so an empty one should be left out: omitempty or omitzero", place)
	}
	if required && slices.Contains(options, "omitempty") {
		t.Errorf("%s is required, so it should not be left out when it is empty", place)
	}
	checkFieldName(t, place, name, field.Type)
	checkFieldType(t, place, name, field.Type)
}

// formerWords are names that v1beta1 replaced: what an earlier field was called must not come back beside its new name.
var formerWords = map[string]string{
	"at": "time", "by": "user", "since": "startTime", "about": "task", "cwd": "workingDir", "separation": "denyRequesters", "askers": "requesters",
}

// booleans matches the names of booleans: verbs, participles and adjectives.
var booleans = regexp.MustCompile(`^(allow|deny|supports|use)[A-Z]|^(cancel|suspend)$|(able|ed|held|Only)$`)

func checkFieldName(t *testing.T, place, name string, fieldType ast.Expr) {
	t.Helper()
	if now, found := formerWords[name]; found {
		t.Errorf("%s is called %s, which is %s in v1beta1", place, name, now)
	}
	text := types.ExprString(fieldType)
	if strings.HasSuffix(text, "metav1.Time") && name != "time" && !strings.HasSuffix(name, "Time") {
		t.Errorf("%s is a time: its name should end in Time", place)
	}
	if regexp.MustCompile(`(At|By|Millis)$`).MatchString(name) {
		t.Errorf("%s: times end in Time, people are users, durations end in Seconds", place)
	}
	if strings.HasSuffix(text, "KeySelector") && !strings.HasSuffix(name, "KeyRef") {
		t.Errorf("%s is a key of a Secret or ConfigMap: its name should end in KeyRef", place)
	}
	if strings.TrimPrefix(text, "*") == "bool" && !booleans.MatchString(name) {
		t.Errorf("%s is a boolean called %s: a noun does not say what is true", place, name)
	}
}

func checkFieldType(t *testing.T, place, name string, fieldType ast.Expr) {
	t.Helper()
	ast.Inspect(fieldType, func(node ast.Node) bool {
		identifier, ok := node.(*ast.Ident)
		if !ok {
			return true
		}
		switch identifier.Name {
		case "float32", "float64":
			t.Errorf("%s is a float: use whole numbers of a smaller unit", place)
		case "int", "int8", "int16", "uint", "uint8", "uint16", "uint32", "uint64":
			t.Errorf("%s should be an int32 or int64", place)
		case "Duration":
			t.Errorf("%s is a duration: use a whole number and a name with Seconds", place)
		case "int32", "int64":
			timed := regexp.MustCompile(`(?i)duration|timeout|ttl|delay|interval`).MatchString(name)
			if timed && !strings.Contains(name, "Seconds") {
				t.Errorf("%s should say its unit: Seconds", place)
			}
		}
		return true
	})
}

func TestEveryConstantIsInEnum(t *testing.T) {
	declared := constants(t)
	eachType(t, func(spec *ast.TypeSpec, comment string) {
		_, list, found := strings.Cut(comment, "+kubebuilder:validation:Enum=")
		if !found {
			return
		}
		list, _, _ = strings.Cut(list, "\n")
		values := strings.Split(list, ";")
		for _, value := range values {
			if !camelCase.MatchString(value) {
				t.Errorf("%q of %s should be in CamelCase", value, spec.Name)
			}
		}
		slices.Sort(values)
		slices.Sort(declared[spec.Name.Name])
		if !slices.Equal(values, declared[spec.Name.Name]) {
			t.Errorf("the enum of %s is %v, its constants are %v", spec.Name, values, declared[spec.Name.Name])
		}
		delete(declared, spec.Name.Name)
	})
	delete(declared, "") // constants without a type are names, labels, conditions and reasons
	for name := range declared {
		t.Errorf("%s has constants but no enum", name)
	}
}

func TestReasonsAreNamedByValues(t *testing.T) {
	eachSpec(t, token.CONST, func(declared ast.Spec, _ string) {
		spec := declared.(*ast.ValueSpec)
		name, value := spec.Names[0].Name, literal(t, spec)
		if !strings.HasPrefix(name, "Reason") {
			return
		}
		if name != "Reason"+value || !camelCase.MatchString(value) {
			t.Errorf("%s has the value %q", name, value)
		}
		if !strings.HasPrefix(text(spec.Doc), name+": ") {
			t.Errorf("%s should say when it is given", name)
		}
	})
}

// constants returns the values of the string constants by their type.
func constants(t *testing.T) map[string][]string {
	t.Helper()
	values := map[string][]string{}
	eachSpec(t, token.CONST, func(spec ast.Spec, _ string) {
		value := spec.(*ast.ValueSpec)
		var kind string
		if identifier, ok := value.Type.(*ast.Ident); ok {
			kind = identifier.Name
		}
		values[kind] = append(values[kind], literal(t, value))
	})
	return values
}

func literal(t *testing.T, spec *ast.ValueSpec) string {
	t.Helper()
	value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
	if err != nil {
		t.Fatalf("%s is no string: %v", spec.Names[0], err)
	}
	return value
}
