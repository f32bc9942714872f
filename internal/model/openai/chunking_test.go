// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/conformance"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// piece is a fragment of a tool call in a stream.
type piece struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// chunking describe how a provider streams tool calls.
type chunking struct {
	indexed    bool // each fragment has the index of its call
	repeatID   bool // each fragment repeats the ID
	repeatName bool // each fragment repeats the name
	interleave bool // fragments of several calls are mixed; requires an index
}

func drawChunking(t *rapid.T) chunking {
	h := chunking{indexed: rapid.Bool().Draw(t, "indexed"), repeatID: rapid.Bool().Draw(t, "repeatID")}
	if h.indexed {
		h.repeatName, h.interleave = rapid.Bool().Draw(t, "repeatName"), rapid.Bool().Draw(t, "interleave")
	}
	return h
}

func drawCalls(t *rapid.T) []model.ToolCall {
	calls := make([]model.ToolCall, rapid.IntRange(1, 4).Draw(t, "calls"))
	for i := range calls {
		arguments, err := json.Marshal(rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "arguments"))
		if err != nil {
			t.Fatal(err)
		}
		calls[i] = model.ToolCall{ID: fmt.Sprintf("id%d", i), Name: rapid.SampledFrom([]string{"ls", "read", "grep"}).Draw(t, "name"), Arguments: string(arguments)}
	}
	return calls
}

// pieces splits a call into fragments.
func (h chunking) pieces(t *rapid.T, index int, call model.ToolCall) []piece {
	var out []piece
	for rest := call.Arguments; rest != "" || len(out) == 0; {
		var p piece
		if h.indexed {
			p.Index = &index
		}
		if h.repeatID || len(out) == 0 {
			p.ID = call.ID
		}
		if h.repeatName || len(out) == 0 {
			p.Function.Name = call.Name
		}
		runes := []rune(rest)
		n := rapid.IntRange(min(1, len(out)), len(runes)).Draw(t, "length")
		p.Function.Arguments, rest = string(runes[:n]), string(runes[n:])
		out = append(out, p)
	}
	return out
}

// stream distributes the fragments of all calls over the events of a stream.
func (h chunking) stream(t *rapid.T, calls []model.ToolCall) string {
	queues := make([][]piece, len(calls))
	for i, call := range calls {
		queues[i] = h.pieces(t, i, call)
	}
	var body strings.Builder
	var event []piece
	flush := func() {
		data, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": map[string]any{"tool_calls": event}}}})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&body, "data: %s\n\n", data)
		event = nil
	}
	for begun := 0; len(queues) > 0; {
		// Calls start in order; those that have started may be mixed.
		i := 0
		if h.interleave {
			i = rapid.IntRange(0, min(begun, len(queues)-1)).Draw(t, "which")
		}
		begun = max(begun, i+1)
		event = append(event, queues[i][0])
		if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
			queues = append(queues[:i], queues[i+1:]...)
			begun--
		}
		if rapid.Bool().Draw(t, "flush") {
			flush()
		}
	}
	flush()
	return body.String() + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"
}

// TestAnyChunkingGivesSameCalls streams random calls in random ways.
func TestAnyChunkingGivesSameCalls(t *testing.T) {
	var next atomic.Value
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, next.Load()) }))
	defer provider.Close()
	client, err := openai.NewClient(wire.Endpoint{BaseURL: provider.URL})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		calls := drawCalls(rt)
		body := drawChunking(rt).stream(rt, calls)
		next.Store(body)
		got, err := client.Complete(t.Context(), conformance.Question(), nil)
		if err != nil {
			rt.Fatalf("%v\n%s", err, body)
		}
		if diff := cmp.Diff(calls, got.ToolCalls); diff != "" {
			rt.Fatalf("calls (-want +got):\n%s\n%s", diff, body)
		}
	})
}
