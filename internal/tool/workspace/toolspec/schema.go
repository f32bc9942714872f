// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolspec

import (
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaFor infers the schema of a tool's arguments and adds what Go types cannot express: a list is neither null nor
// empty, and no number is negative. Some model APIs reject schemas with nullable lists.
func schemaFor[In any]() *jsonschema.Schema {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		// The argument types are fixed, and the tests cover all of them.
		panic(fmt.Sprintf("schema of %T: %v", *new(In), err))
	}
	tighten(schema)
	return schema
}

func tighten(schema *jsonschema.Schema) {
	if schema.Items != nil {
		schema.Type, schema.Types = "array", nil
		schema.MinItems = jsonschema.Ptr(1)
		tighten(schema.Items)
	}
	if schema.Type == "integer" {
		schema.Minimum = jsonschema.Ptr(0.0)
	}
	for _, property := range schema.Properties {
		tighten(property)
	}
}
