// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
)

// workshop has tools that record their runs with idempotency keys.
type workshop struct {
	mu   sync.Mutex
	runs map[string]int
	// gate, if set, is called before a write tool returns, gateAll before any tool does.
	gate, gateAll func(ctx context.Context, call tool.Call)
	// text, if set, computes the output of a tool.
	text func(tool.Call) string
}

func (w *workshop) Set(context.Context, ledger.Agent, string) (tool.Set, error) {
	set, err := builtin.New(builtin.Options{})
	if err != nil {
		return set, err
	}
	var tools []*tool.Tool
	for _, t := range plainTools() {
		made, err := tool.New(tool.Spec{Name: t.Name, Parameters: t.Parameters, ReadOnly: t.ReadOnly, Timeout: time.Minute}, w.run(t))
		if err != nil {
			return set, err
		}
		tools = append(tools, made)
	}
	more, err := tool.NewSet(tools...)
	if err != nil {
		return set, err
	}
	return set.Union(more)
}

func (w *workshop) run(t agent.Tool) tool.Func {
	return func(ctx context.Context, call tool.Call) (tool.Output, error) {
		w.mu.Lock()
		w.runs[call.Name+" "+call.IdempotencyKey]++
		gate, gateAll := w.gate, w.gateAll
		w.mu.Unlock()
		if gate != nil && !t.ReadOnly {
			gate(ctx, call)
		}
		if gateAll != nil {
			gateAll(ctx, call)
		}
		if w.text != nil {
			return tool.Output{Text: w.text(call)}, ctx.Err()
		}
		return tool.Output{Text: call.Name + " is done"}, ctx.Err()
	}
}

// count returns how often a tool ran; doubled are the calls that ran more than once.
func (w *workshop) count(name string) (runs int, doubled []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, n := range w.runs {
		if strings.HasPrefix(key, name+" ") {
			runs += n
			if n > 1 {
				doubled = append(doubled, key)
			}
		}
	}
	return runs, doubled
}

func plainTools() []agent.Tool {
	anything := json.RawMessage(`{"type":"object"}`)
	var tools []agent.Tool
	for _, name := range []string{"read", "ls", "glob", "grep", "keyword_search", "web_search"} {
		tools = append(tools, agent.Tool{Name: name, Parameters: anything, ReadOnly: true, BuiltIn: name == "web_search"})
	}
	for _, name := range []string{"write", "patch", "bash"} {
		tools = append(tools, agent.Tool{Name: name, Parameters: anything})
	}
	return tools
}
