// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

// catalog lists built-in roles and tools, and those of workspaces, which are not resources.
type catalog struct {
	Roles          []role.Role `json:"roles"`
	Tools          []toolInfo  `json:"tools"`
	WorkspaceTools []toolInfo  `json:"workspaceTools"`
}

type toolInfo struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	ReadOnly    bool            `json:"readOnly"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func describeTool(spec tool.Spec) toolInfo {
	return toolInfo{Name: spec.Name, Description: spec.Description, ReadOnly: spec.ReadOnly, InputSchema: spec.Parameters}
}

// catalog serves the built-in roles and tools, without the prompts, which are in the sources.
func (s *site) catalog(w http.ResponseWriter, _ *http.Request, _ *rest.Config) {
	var result catalog
	for _, name := range role.Names() {
		r, _ := role.BuiltIn(name)
		r.SystemPrompt = ""
		result.Roles = append(result.Roles, r)
	}
	set, err := builtin.New(builtin.Options{Search: &builtin.Search{}})
	if err != nil {
		writeError(w, err)
		return
	}
	for _, t := range set.Tools() {
		result.Tools = append(result.Tools, describeTool(t.Spec()))
	}
	specs, err := toolspec.Specs(false)
	if err != nil {
		writeError(w, err)
		return
	}
	publishing, err := toolspec.PublishSpecs("")
	if err != nil {
		writeError(w, err)
		return
	}
	for _, spec := range append(specs, publishing...) {
		result.WorkspaceTools = append(result.WorkspaceTools, describeTool(spec))
	}
	writeJSON(w, http.StatusOK, result)
}
