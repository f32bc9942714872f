// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/workspace"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

// TestSpecsMatchTheServersTools compares the specs for models with the tools that the server lists.
func TestSpecsMatchTheServersTools(t *testing.T) {
	for name, readOnly := range map[string]bool{"with writers": false, "read-only": true} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, nil, func(o *workspace.Options) { o.ReadOnly = readOnly })
			listed, err := c.session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			offered := map[string]tool.Spec{}
			for _, l := range listed.Tools {
				parameters, err := json.Marshal(l.InputSchema)
				if err != nil {
					t.Fatal(err)
				}
				offered[l.Name] = tool.Spec{Name: l.Name, Description: l.Description, Parameters: parameters,
					ReadOnly: l.Annotations.ReadOnlyHint, Idempotent: l.Annotations.IdempotentHint}
			}
			specs, err := toolspec.Specs(readOnly)
			if err != nil {
				t.Fatal(err)
			}
			described := map[string]tool.Spec{}
			for _, s := range specs {
				described[s.Name] = s
			}
			sameJSON := cmp.Transformer("parse", func(text json.RawMessage) (value any) {
				if err := json.Unmarshal(text, &value); err != nil {
					t.Fatal(err)
				}
				return value
			})
			if diff := cmp.Diff(offered, described, sameJSON); diff != "" {
				t.Errorf("specs (-server +specs):\n%s", diff)
			}
		})
	}
}
