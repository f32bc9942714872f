// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/nestor-dev/nestor/config/crd"
	"github.com/nestor-dev/nestor/config/operator"
)

// newRules returns the CEL environment in which an API server compiles rules that it does not store yet: that of the
// release before, so that the server can be rolled back.
func newRules(release *version.Version) *environment.EnvSet {
	return environment.MustBaseEnvSet(version.MajorMinor(release.Major(), release.Minor()-1))
}

func TestRulesCompileOnTheFloor(t *testing.T) {
	for _, problem := range compile(t, newRules(floor(t))) {
		t.Error(problem)
	}
}

// TestFloorIsTight fails when the rules stop needing the oldest release, so that the table can go further back.
func TestFloorIsTight(t *testing.T) {
	release := floor(t)
	if len(compile(t, newRules(version.MajorMinor(release.Major(), release.Minor()-1)))) == 0 {
		t.Errorf("all rules compile on the release before %s: run make compat on it", release)
	}
}

// compile returns the errors of all rules in definitions and policies.
func compile(t *testing.T, env *environment.EnvSet) (problems []string) {
	t.Helper()
	definitions, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions {
		internal := &apiextensions.JSONSchemaProps{}
		convert := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps
		if err := convert(d.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil); err != nil {
			t.Fatal(err)
		}
		structural, err := schema.NewStructural(internal)
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, compileSchema(t, structural, true, d.Name, env)...)
	}
	objects, err := operator.Access()
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if object.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		policy := &admissionv1.ValidatingAdmissionPolicy{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, policy); err != nil {
			t.Fatal(err)
		}
		problems = append(problems, compilePolicy(t, policy, env)...)
	}
	return problems
}

func compileSchema(
	t *testing.T, s *schema.Structural, isRoot bool, path string, env *environment.EnvSet,
) (problems []string) {
	t.Helper()
	declared, loader := model.SchemaDeclType(s, isRoot), schemacel.NewExpressionsEnvLoader()
	results, err := schemacel.Compile(s, declared, celconfig.PerCallLimit, env, loader)
	if err != nil {
		t.Fatal(err)
	}
	for i, result := range results {
		if result.Error != nil {
			problems = append(problems, path+": "+s.XValidations[i].Rule+": "+result.Error.Error())
		}
	}
	for name, property := range s.Properties {
		problems = append(problems, compileSchema(t, &property, false, path+"."+name, env)...)
	}
	if s.Items != nil {
		problems = append(problems, compileSchema(t, s.Items, false, path+"[]", env)...)
	}
	return problems
}

func compilePolicy(
	t *testing.T, policy *admissionv1.ValidatingAdmissionPolicy, env *environment.EnvSet,
) (problems []string) {
	t.Helper()
	compiler, err := admissioncel.NewCompositedCompiler(env)
	if err != nil {
		t.Fatal(err)
	}
	declared := admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}
	check := func(result admissioncel.CompilationResult) {
		if result.Error != nil {
			problems = append(problems, policy.Name+": "+result.Error.Error())
		}
	}
	for _, v := range policy.Spec.Variables {
		variable := &validating.Variable{Name: v.Name, Expression: v.Expression}
		check(compiler.CompileAndStoreVariable(variable, declared, environment.NewExpressions))
	}
	for _, v := range policy.Spec.Validations {
		condition := &validating.ValidationCondition{Expression: v.Expression}
		check(compiler.CompileCELExpression(condition, declared, environment.NewExpressions))
	}
	return problems
}
