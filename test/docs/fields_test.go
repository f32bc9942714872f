// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/nestor-dev/nestor/config/crd"
)

// fields are the schemas of our kinds.
type fields map[string]*apiextensionsv1.JSONSchemaProps

func readFields(t *testing.T) fields {
	t.Helper()
	definitions, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	all := fields{}
	for _, definition := range definitions {
		all[definition.Spec.Names.Kind] = definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return all
}

// check returns an error if a part of an object has an unknown field.
func (f fields) check(kind string, part any) error {
	schema := f[kind]
	if schema == nil {
		return fmt.Errorf("there is no kind %s", kind)
	}
	return checkPart(schema, part, kind)
}

func checkPart(schema *apiextensionsv1.JSONSchemaProps, part any, path string) error {
	switch value := part.(type) {
	case map[string]any:
		for name, inner := range value {
			field, err := step(schema, name, path)
			if err != nil {
				return err
			}
			if field == nil {
				continue
			}
			if err := checkPart(field, inner, path+"."+name); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range value {
			if schema.Items == nil {
				return fmt.Errorf("%s is not a list", path)
			}
			if err := checkPart(schema.Items.Schema, inner, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// step returns the schema of a field, or nil where anything is allowed.
func step(schema *apiextensionsv1.JSONSchemaProps, name, path string) (*apiextensionsv1.JSONSchemaProps, error) {
	if field, found := schema.Properties[name]; found {
		return &field, nil
	}
	if schema.AdditionalProperties != nil || (schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields) || path+"."+name == path+".metadata" {
		return nil, nil
	}
	if schema.Type == "object" && len(schema.Properties) == 0 {
		return nil, nil
	}
	return nil, fmt.Errorf("%s has no field %s", path, name)
}

func newBuffered(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }
