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
	mu        sync.Mutex
	arguments []string
}

func (r *recorder) run(_ context.Context, call tool.Invocation) (tool.Output, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arguments = append(r.arguments, string(call.Arguments))
	return tool.Output{Text: "ran"}, nil
}

func (r *recorder) received() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arguments
}

func answerWith(text string) tool.Func {
	return func(context.Context, tool.Invocation) (tool.Output, error) { return tool.Output{Text: text}, nil }
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

// namedTools returns a set of tools that answer with their own names.
func namedTools(t *testing.T, names ...string) tool.Set {
	t.Helper()
	tools := make([]*tool.Tool, 0, len(names))
	for _, name := range names {
		tools = append(tools, makeTool(t, tool.Spec{Name: name, ReadOnly: true}, answerWith(name)))
	}
	return makeSet(t, tools...)
}

func execute(t *testing.T, set tool.Set, name, arguments string) tool.Result {
	t.Helper()
	return tool.Executor{}.Execute(t.Context(), set, tool.Invocation{ID: "call_1", Name: name, Arguments: json.RawMessage(arguments)})
}
