// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/anthropic"
	"github.com/nestor-dev/nestor/internal/model/bedrock"
	"github.com/nestor-dev/nestor/internal/model/gemini"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/responses"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// clients returns a client of each API for a server that speaks all of them.
func clients(t *testing.T, address string) map[model.API]model.Client {
	t.Helper()
	all := map[model.API]model.Client{}
	add := func(api model.API, client model.Client, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all[api] = client
	}
	chat, err := openai.NewClient(wire.Endpoint{BaseURL: address + "/v1"})
	add(model.OpenAI, chat, err)
	items, err := responses.NewClient(wire.Endpoint{BaseURL: address + "/v1"})
	add(model.OpenAIResponses, items, err)
	messages, err := anthropic.NewClient(wire.Endpoint{BaseURL: address})
	add(model.Anthropic, messages, err)
	contents, err := gemini.NewClient(wire.Endpoint{BaseURL: address})
	add(model.Gemini, contents, err)
	vertex, err := gemini.NewVertexClient(wire.Endpoint{BaseURL: address + "/v1/projects/p/locations/global"})
	add(model.Vertex, vertex, err)
	converse, err := bedrock.NewClient(wire.Endpoint{BaseURL: address})
	add(model.Bedrock, converse, err)
	return all
}

// TestConversationMovesBetweenAPIs changes the API in the middle of a tool loop, from each to each, forth and back. The
// server is strict about what every API requires: signed reasoning that is unchanged, IDs, roles and the pairing of
// calls and results.
func TestConversationMovesBetweenAPIs(t *testing.T) {
	const script = `
rules:
- match: {lastMessage: Thanks}
  reply: {text: "You are welcome."}
- match: {turn: 7}
  reply: {reasoning: Enough., text: There are three.}
- reply: {reasoning: "Where? {{.turn}}", text: "I look.", toolCalls: [{name: ls, arguments: {path: "{{.turn}}"}}, {name: ls}]}
`
	parsed, err := scripted.Parse("test.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{parsed}}))
	defer server.Close()
	all := clients(t, server.URL)
	for first := range all {
		for second := range all {
			t.Run(fmt.Sprintf("from %s to %s", first, second), func(t *testing.T) {
				req := model.Request{Model: "scripted", ReasoningEffort: model.EffortMedium, Tools: []model.Tool{{Name: "ls"}}, Messages: []model.Message{
					{Role: model.RoleSystem, Text: "You are helpful."}, {Role: model.RoleUser, Text: "How many files are there?"},
				}}
				seen := map[string]bool{}
				for turn := range 7 {
					client := all[first]
					if turn == 2 || turn == 3 || turn == 5 {
						client = all[second]
					}
					reply, err := client.Complete(t.Context(), req, nil)
					if err != nil {
						t.Fatalf("turn %d: %v", turn+1, err)
					}
					req.Messages = append(req.Messages, reply.Message())
					for _, call := range reply.ToolCalls {
						if seen[call.ID] {
							t.Errorf("turn %d: the ID %s was used before", turn+1, call.ID)
						}
						seen[call.ID] = true
						req.Messages = append(req.Messages, model.Message{Role: model.RoleTool, ToolCallID: call.ID, Text: "go.mod"})
					}
				}
				if last := req.Messages[len(req.Messages)-1]; last.Text != "There are three." || len(seen) != 12 {
					t.Fatalf("after %d calls: %+v", len(seen), last)
				}
				req.Messages = append(req.Messages, model.Message{Role: model.RoleUser, Text: "Thanks"})
				if reply, err := all[second].Complete(t.Context(), req, nil); err != nil || reply.Text != "You are welcome." {
					t.Errorf("got %+v, %v", reply, err)
				}
			})
		}
	}
}
