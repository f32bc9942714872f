// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
)

// Specs returns the specs of the tools that a workspace will offer, so that a model can be offered them before the
// workspace is ready.
func Specs(readOnly bool) ([]tool.Spec, error) {
	described := []*mcp.Tool{
		describe[readArgs](readTool), describe[lsArgs](lsTool), describe[globArgs](globTool),
		describe[grepArgs](grepTool), describe[keywordArgs](keywordTool), describe[imageArgs](imageTool),
	}
	if !readOnly {
		described = append(described, describe[writeArgs](writeTool), describe[patchArgs](patchTool), describe[bashArgs](bashTool))
	}
	specs := make([]tool.Spec, 0, len(described))
	for _, d := range described {
		parameters, err := json.Marshal(d.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("encode the schema of %s: %w", d.Name, err)
		}
		specs = append(specs, tool.Spec{
			Name: d.Name, Description: d.Description, Parameters: parameters,
			ReadOnly: d.Annotations.ReadOnlyHint, Idempotent: d.Annotations.IdempotentHint,
		})
	}
	return specs, nil
}

// describe completes a tool with the schema of its arguments.
func describe[In any](tool func() *mcp.Tool) *mcp.Tool {
	described := tool()
	described.InputSchema = schemaFor[In]()
	return described
}
