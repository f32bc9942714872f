// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

func TestSchemasAreBoundedASCII(t *testing.T) {
	printable := regexp.MustCompile(`^[ -%'-;=?-~]*$`)
	rapid.Check(t, func(t *rapid.T) {
		var status mcp.Status
		for i := range rapid.IntRange(0, 140).Draw(t, "tools") {
			schema, err := json.Marshal(map[string]any{"type": "object", "description": rapid.StringN(0, 400, 4000).Draw(t, "description")})
			if err != nil {
				t.Fatal(err)
			}
			status.Tools = append(status.Tools, mcp.ToolStatus{Name: fmt.Sprint("tööl", i), Schema: schema})
		}
		text := schemasOf(status)
		if len(text) > maxSchemas || !printable.MatchString(text) {
			t.Fatalf("%d bytes: %q", len(text), text)
		}
		if text == "" {
			return
		}
		var schemas map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &schemas); err != nil {
			t.Fatal(err)
		}
		for _, tool := range status.Tools {
			got, ok := schemas[tool.Name]
			if !ok {
				continue
			}
			var want, found any
			if json.Unmarshal(tool.Schema, &want) != nil || json.Unmarshal(got, &found) != nil || fmt.Sprint(want) != fmt.Sprint(found) {
				t.Fatalf("the schema of %s is %s, want %s", tool.Name, got, tool.Schema)
			}
		}
	})
}

func TestALargeSchemaLeavesRoomForTheOthers(t *testing.T) {
	large, _ := json.Marshal(map[string]any{"description": strings.Repeat("x", maxSchemas)})
	got := schemasOf(mcp.Status{Tools: []mcp.ToolStatus{
		{Name: "large", Schema: large}, {Name: "none"}, {Name: "broken", Schema: json.RawMessage("{")}, {Name: "small", Schema: json.RawMessage(`{ "type": "object" }`)},
	}})
	if got != `{"small":{"type":"object"}}` {
		t.Errorf("the schemas are %s", got)
	}
}
