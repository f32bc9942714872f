// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

func TestSchemas_TogetherBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var status mcp.Status
		for i := range rapid.IntRange(0, 140).Draw(t, "tools") {
			schema, err := json.Marshal(map[string]any{"type": "object", "description": rapid.StringN(0, 400, 4000).Draw(t, "description")})
			if err != nil {
				t.Fatal(err)
			}
			status.Tools = append(status.Tools, mcp.ToolStatus{Name: fmt.Sprint("tööl", i), Schema: schema})
		}
		total := 0
		for i, tool := range toolsOf(status, nil) {
			if (tool.InputSchema == nil) != tool.SchemaOmitted {
				t.Fatalf("%s has schema %v, omitted %t", tool.Name, tool.InputSchema, tool.SchemaOmitted)
			}
			if tool.InputSchema == nil {
				continue
			}
			total += len(tool.InputSchema.Raw)
			var want, got any
			if json.Unmarshal(status.Tools[i].Schema, &want) != nil || json.Unmarshal(tool.InputSchema.Raw, &got) != nil || fmt.Sprint(want) != fmt.Sprint(got) {
				t.Fatalf("the schema of %s is %s, want %s", tool.Name, tool.InputSchema.Raw, status.Tools[i].Schema)
			}
		}
		if total > maxSchemas {
			t.Fatalf("the schemas have %d bytes", total)
		}
	})
}

func TestSchemas_OmittedOneLeavesRoom(t *testing.T) {
	large, _ := json.Marshal(map[string]any{"description": strings.Repeat("x", maxSchemas)})
	schema := func(text string) json.RawMessage { return json.RawMessage(text) }
	tools := toolsOf(mcp.Status{Tools: []mcp.ToolStatus{
		{Name: "large", Schema: large}, {Name: "none"}, {Name: "broken", Schema: schema("{")}, {Name: "list", Schema: schema("[]")},
		{Name: "reordered", Schema: schema("{\"description\":\"a\u202eb\"}")}, {Name: "small", Schema: schema(`{ "type": "object" }`)},
	}}, nil)
	var got []string
	for _, tool := range tools {
		got = append(got, shown(tool))
	}
	if want := "large omitted, none, broken omitted, list omitted, reordered omitted, small {\"type\":\"object\"}"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

func shown(tool v1beta1.ToolInfo) string {
	switch {
	case tool.InputSchema != nil:
		return tool.Name + " " + string(tool.InputSchema.Raw)
	case tool.SchemaOmitted:
		return tool.Name + " omitted"
	}
	return tool.Name
}
