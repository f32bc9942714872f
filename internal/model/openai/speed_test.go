// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/conformance"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// BenchmarkComplete measures whole calls with the scripted model in the same process: client, HTTP, and server.
func BenchmarkComplete(b *testing.B) {
	for _, turns := range []int{0, 20} {
		b.Run(fmt.Sprintf("history%d", turns), func(b *testing.B) {
			const script = "fallback: {toolCalls: [{name: read, arguments: {path: go.mod}}]}"
			server := httptest.NewServer(conformance.NewServer(b, script, scripted.Options{RecordLimit: -1}))
			defer server.Close()
			client, err := openai.NewClient(wire.Endpoint{BaseURL: server.URL + "/v1"})
			if err != nil {
				b.Fatal(err)
			}
			req := conformance.Question()
			for i := range turns {
				id := fmt.Sprint("call", i)
				req.Messages = append(req.Messages,
					model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: id, Name: "read", Arguments: `{"path":"go.mod"}`}}},
					model.Message{Role: model.RoleTool, ToolCallID: id, Text: strings.Repeat("a line of a file\n", 20)})
			}
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := client.Complete(b.Context(), req, nil); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}
