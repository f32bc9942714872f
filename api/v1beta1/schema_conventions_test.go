// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/nestor-dev/nestor/config/crd"
)

// exempt are schemas that Kubernetes defines, by the end of their path, with the reason why they may stay as they are.
var exempt = map[string]string{
	".metadata":                    "ObjectMeta is validated by the API server itself",
	".allowedNamespaces.selector":  "LabelSelector is used as Kubernetes defines it, and only platform teams write it",
	".spec.namespaces.selector":    "as above",
	".status.conditions[].message": "a rule on the list bounds it; TestConditionsAreBounded holds that",
	".asTool.inputSchema":          "a JSON schema may have any form; its properties are counted",
	".spec.outputSchema":           "a JSON schema may have any form; its properties are counted",
	".status.result.data":          "the data of a result has the form of its outputSchema; the projection bounds its size",
	".waiting.arguments":           "the arguments of a call have the form of the tool's schema; the projection bounds their size",
	".waiting[].arguments":         "as above",
	".toolCalls[].arguments":       "as above",
	".tools[].inputSchema":         "a JSON schema may have any form; the controller bounds the size of all of them",
	".workspace.nodeSelector":      "labels of nodes are used as Kubernetes defines them; a rule bounds their number and length",
	".taskSelector":                "as below",
	".watch.selector":              "LabelSelector is used as Kubernetes defines it, and a large one costs only its author",
	".task.arguments":              "the input of a role may have any form; its properties are counted",
	".task.outputSchema":           "a JSON schema may have any form; its properties are counted",
	".spec.arguments":              "the input of a tool may have any form; its properties are counted",
	"AgentRole.spec.temperature":   "a number or a string has no type in a structural schema; the examples in test show that nothing else is accepted",
}

var sentenceEnd = regexp.MustCompile(`[.!?]["')]?(\s|$)`)

func isExempt(place string) bool {
	for end := range exempt {
		if strings.HasSuffix(place, end) {
			return true
		}
	}
	return false
}

func definitions(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(crds) != 11 {
		t.Fatalf("%d CRDs, want the eleven kinds", len(crds))
	}
	return crds
}

func TestEveryKindIsEasyToFind(t *testing.T) {
	for _, definition := range definitions(t) {
		names, version := definition.Spec.Names, definition.Spec.Versions[0]
		if len(names.ShortNames) != 1 {
			t.Errorf("%s has the short names %v, want one", names.Kind, names.ShortNames)
		}
		want := []string{"nestor"}
		if names.Kind == "SubAgent" { // its task is listed
			want = nil
		}
		if !slices.Equal(names.Categories, want) {
			t.Errorf("%s has the categories %v, want %v", names.Kind, names.Categories, want)
		}
		if definition.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Errorf("%s should be namespaced", names.Kind)
		}
		if version.Subresources == nil || version.Subresources.Status == nil {
			t.Errorf("%s should have the status subresource", names.Kind)
		}
		columns := version.AdditionalPrinterColumns
		if last := columns[len(columns)-1]; last.Name != "Age" || last.Type != "date" {
			t.Errorf("the last column of %s is %s, want Age", names.Kind, last.Name)
		}
	}
}

func TestEverySchemaIsBounded(t *testing.T) {
	for _, definition := range definitions(t) {
		schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		if n := len(sentenceEnd.FindAllString(schema.Description, -1)); n < 1 || n > 2 {
			t.Errorf("kubectl explain of %s has %d sentences, want one or two", definition.Spec.Names.Kind, n)
		}
		for _, part := range []string{"spec", "status"} {
			root := schema.Properties[part]
			walk(definition.Spec.Names.Kind+"."+part, &root, func(place string, schema *apiextensionsv1.JSONSchemaProps) {
				checkSchema(t, place, schema)
			})
		}
	}
}

// walk visits a schema and everything below it but what is exempt.
func walk(place string, schema *apiextensionsv1.JSONSchemaProps, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	if isExempt(place) {
		return
	}
	visit(place, schema)
	for name, property := range schema.Properties {
		walk(place+"."+name, &property, visit)
	}
	if schema.Items != nil {
		walk(place+"[]", schema.Items.Schema, visit)
	}
}

func checkSchema(t *testing.T, place string, schema *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	inSpec := strings.Contains(place, ".spec")
	if schema.Description == "" && !strings.HasSuffix(place, "[]") {
		t.Errorf("%s has no description", place)
	}
	// Kubernetes describes conditions.
	if n := len(sentenceEnd.FindAllString(schema.Description, -1)); n > 2 && !strings.Contains(place, ".conditions[]") {
		t.Errorf("kubectl explain of %s has %d sentences, want at most two: move the rest to docs", place, n)
	}
	switch schema.Type {
	case "string":
		if schema.MaxLength == nil && schema.Enum == nil && schema.Format != "date-time" {
			t.Errorf("%s needs a maxLength, an enum or a format", place)
		}
		// A rule on a text of this length costs more than the API server allows.
		if inSpec && schema.Pattern != "" && !strings.HasSuffix(place, ".attachments[].data") {
			t.Errorf("%s has a bare pattern: a rule can say in words what is allowed", place)
		}
	case "array":
		if schema.MaxItems == nil || schema.XListType == nil {
			t.Errorf("%s needs maxItems and a listType", place)
		}
	case "integer":
		if schema.Format != "int32" && schema.Format != "int64" {
			t.Errorf("%s has the format %q, want int32 or int64", place, schema.Format)
		}
		if schema.Minimum == nil {
			t.Errorf("%s needs a minimum", place)
		}
	case "object":
		if schema.AdditionalProperties != nil || schema.XPreserveUnknownFields != nil {
			t.Errorf("%s may have any fields: name them", place)
		}
	case "boolean":
	default:
		t.Errorf("%s has the type %q", place, schema.Type)
	}
	for _, rule := range schema.XValidations {
		if rule.Message == "" || strings.HasSuffix(rule.Message, ".") {
			t.Errorf("%s: the rule %s needs a message, without a full stop", place, rule.Rule)
		}
	}
}

// Free-form objects are exempt from the rules above, but not from having a bound at all.
func TestFreeFormObjectsCountProperties(t *testing.T) {
	var visit func(place string, schema *apiextensionsv1.JSONSchemaProps)
	visit = func(place string, schema *apiextensionsv1.JSONSchemaProps) {
		if schema.XPreserveUnknownFields != nil && place != "AgentRole.spec.temperature" && (schema.Type != "object" || schema.MaxProperties == nil) {
			t.Errorf("%s needs type object and maxProperties", place)
		}
		for name, property := range schema.Properties {
			visit(place+"."+name, &property)
		}
		if schema.Items != nil {
			visit(place+"[]", schema.Items.Schema)
		}
	}
	for _, definition := range definitions(t) {
		visit(definition.Spec.Names.Kind, definition.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
}

func TestConditionsAreBounded(t *testing.T) {
	for _, definition := range definitions(t) {
		kind, status := definition.Spec.Names.Kind, definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
		conditions := status.Properties["conditions"]
		if conditions.XListType == nil || *conditions.XListType != "map" || !slices.Equal(conditions.XListMapKeys, []string{"type"}) {
			t.Errorf("the conditions of %s should be a map by type", kind)
		}
		bounded := slices.ContainsFunc(conditions.XValidations, func(rule apiextensionsv1.ValidationRule) bool {
			return rule.Rule == "self.all(c, size(c.message) <= 1024)"
		})
		if !bounded {
			t.Errorf("the messages of the conditions of %s need a bound", kind)
		}
	}
}
