// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestTooComplexFormsAreRefused(t *testing.T) {
	form := func(definitions int) json.RawMessage {
		var text strings.Builder
		text.WriteString(`{"type":"object","properties":{"name":{"type":"string"}},"$ref":"#/$defs/a0","$defs":{`)
		for i := range definitions {
			fmt.Fprintf(&text, `"a%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
		}
		fmt.Fprintf(&text, `"a%d":{"required":["name"]}}}`, definitions)
		return json.RawMessage(text.String())
	}
	request, err := newElicitation(&sdk.ElicitParams{Message: "Who?", RequestedSchema: form(3)})
	if err != nil {
		t.Fatal(err)
	}
	if result, problem := request.result(t.Context(), "Ada"); problem != "" || result.Content["name"] != "Ada" {
		t.Errorf("got %+v, %q", result, problem)
	}
	if _, err := newElicitation(&sdk.ElicitParams{Message: "Who?", RequestedSchema: form(28)}); err == nil || !strings.Contains(err.Error(), "too complex") {
		t.Errorf("a form with too many branches: got %v", err)
	}
}
