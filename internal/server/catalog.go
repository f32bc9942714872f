// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
)

// catalog lists built-in roles and tools, which are not resources.
type catalog struct {
	Roles []role.Role `json:"roles"`
	Tools []toolInfo  `json:"tools"`
}

type toolInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	ReadOnly    bool   `json:"readOnly"`
}

// catalog serves the built-in roles and tools, without the prompts, which are in the sources.
func (s *site) catalog(w http.ResponseWriter, _ *http.Request, _ *rest.Config) {
	var found catalog
	for _, name := range role.Names() {
		r, _ := role.BuiltIn(name)
		r.SystemPrompt = ""
		found.Roles = append(found.Roles, r)
	}
	set, err := builtin.New(builtin.Options{Search: &builtin.Search{}})
	if err != nil {
		writeError(w, err)
		return
	}
	for _, t := range set.Tools() {
		spec := t.Spec()
		found.Tools = append(found.Tools, toolInfo{Name: spec.Name, Description: spec.Description, ReadOnly: spec.ReadOnly})
	}
	writeJSON(w, http.StatusOK, found)
}
