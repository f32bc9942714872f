// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package toolspec describes the tools of a workspace, separately from their implementation, for clients that list
// tools and for models before the workspace is ready.
package toolspec

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/nestor-dev/nestor/internal/tool"
)

type Tool struct {
	Name, Title, Description string
	Schema                   *jsonschema.Schema
	ReadOnly, Idempotent     bool
	// OpenWorld means that calls may reach more than the workspace.
	OpenWorld bool
}

// reader describes a tool that changes nothing.
func reader[Args any](name, title, description string) Tool {
	return Tool{Name: name, Title: title, Description: description, Schema: schemaFor[Args](), ReadOnly: true, Idempotent: true}
}

// Specs returns the specs of the tools that a workspace offers.
func Specs(readOnly bool) ([]tool.Spec, error) {
	described := []Tool{Read(), Ls(), Glob(), Grep(), Keyword(), Image()}
	if !readOnly {
		described = append(described, Write(), Patch(), Bash())
	}
	specs := make([]tool.Spec, 0, len(described))
	for _, d := range described {
		parameters, err := encodeSchema(d.Name, d.Schema)
		if err != nil {
			return nil, err
		}
		specs = append(specs, tool.Spec{Name: d.Name, Description: d.Description, Parameters: parameters, ReadOnly: d.ReadOnly, Idempotent: d.Idempotent})
	}
	return specs, nil
}

func encodeSchema(name string, schema *jsonschema.Schema) (json.RawMessage, error) {
	encoded, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("encode the schema of %s: %w", name, err)
	}
	return encoded, nil
}
