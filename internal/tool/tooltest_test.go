// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool"
)

// recorder is a tool's function that records the arguments it receives.
type recorder struct {
	mu   sync.Mutex
	seen []string
}

func (r *recorder) run(_ context.Context, call tool.Call) (tool.Output, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, string(call.Arguments))
	return tool.Output{Text: "ran"}, nil
}

func (r *recorder) reached() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

func say(text string) tool.Func {
	return func(context.Context, tool.Call) (tool.Output, error) { return tool.Output{Text: text}, nil }
}

func makeTool(t *testing.T, spec tool.Spec, run tool.Func) *tool.Tool {
	t.Helper()
	made, err := tool.New(spec, run)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func makeSet(t *testing.T, tools ...*tool.Tool) tool.Set {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// named returns a set of tools that answer with their own names.
func named(t *testing.T, names ...string) tool.Set {
	t.Helper()
	tools := make([]*tool.Tool, 0, len(names))
	for _, name := range names {
		tools = append(tools, makeTool(t, tool.Spec{Name: name, ReadOnly: true}, say(name)))
	}
	return makeSet(t, tools...)
}

func execute(t *testing.T, set tool.Set, name, arguments string) tool.Result {
	t.Helper()
	return tool.Executor{}.Execute(t.Context(), set, tool.Call{ID: "call_1", Name: name, Arguments: json.RawMessage(arguments)})
}
