// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
)

// BenchmarkTranslate measures the encoding of a request with ten tools and twenty messages.
func BenchmarkTranslate(b *testing.B) {
	req := model.Request{Model: "scripted", MaxOutputTokens: 4096}
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"` + strings.Repeat("a path ", 20) + `"}},"required":["path"]}`)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		req.Tools = append(req.Tools, model.Tool{Name: name, Description: strings.Repeat("what it does ", 20), Parameters: schema})
	}
	for range 10 {
		req.Messages = append(req.Messages, model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: "c", Name: "a", Arguments: `{"path":"x"}`}}},
			model.Message{Role: model.RoleTool, ToolCallID: "c", Text: "the content"})
	}
	for b.Loop() {
		if _, err := encodeRequest(req, dialect{}); err != nil {
			b.Fatal(err)
		}
	}
}
