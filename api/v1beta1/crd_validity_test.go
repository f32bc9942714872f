// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	nestor "github.com/nestor-dev/nestor/api/v1beta1"
)

// A rule that does not compile, or that could cost too much, is found here without a cluster.
func TestCRDsAreValid(t *testing.T) {
	for _, definition := range definitions(t) {
		if errs := validate(t, definition); len(errs) > 0 {
			t.Errorf("%s: %v", definition.Name, errs.ToAggregate())
		}
	}
}

func TestExpensiveRuleIsRefused(t *testing.T) {
	definition := definitions(t)[0].DeepCopy()
	schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{
		Type: "object",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"names": {
			Type:         "array",
			Items:        &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}},
			XValidations: apiextensionsv1.ValidationRules{{Rule: "self.all(a, self.all(b, a == b))", Message: "all names must be equal"}},
		}},
	}
	if errs := validate(t, definition); !strings.Contains(errs.ToAggregate().Error(), "cost") {
		t.Errorf("an unbounded nested loop is refused with %v, want its cost", errs)
	}
}

// validate does what the API server does with a CRD that is applied.
func validate(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	t.Helper()
	scheme := runtime.NewScheme()
	apiextensionsinstall.Install(scheme)
	defaulted := definition.DeepCopy()
	scheme.Default(defaulted)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(defaulted, internal, nil); err != nil {
		t.Fatal(err)
	}
	internal.Status.StoredVersions = []string{nestor.GroupVersion.Version}
	return validation.ValidateCustomResourceDefinition(t.Context(), internal)
}

func TestEveryKindIsInScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := nestor.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, definition := range definitions(t) {
		for _, kind := range []string{definition.Spec.Names.Kind, definition.Spec.Names.ListKind} {
			if !scheme.Recognizes(nestor.GroupVersion.WithKind(kind)) {
				t.Errorf("AddToScheme leaves out %s", kind)
			}
		}
	}
}

// An empty list of tools allows none, an absent one the built-in tools: Go clients must be able to write both.
func TestEmptyAllowListIsKept(t *testing.T) {
	for want, policy := range map[string]nestor.RoleTools{
		`{}`:           {},
		`{"allow":[]}`: {Allow: []string{}},
	} {
		got, err := json.Marshal(policy)
		if err != nil || string(got) != want {
			t.Errorf("%+v becomes %s (%v), want %s", policy, got, err, want)
		}
	}
}
