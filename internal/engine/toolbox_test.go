// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
)

// toolbox has tools that record their runs with idempotency keys.
type toolbox struct {
	mu   sync.Mutex
	runs map[string]int
	// beforeWrite, if set, is called before a write tool returns, beforeAny before any tool does.
	beforeWrite, beforeAny func(ctx context.Context, call tool.Invocation)
	// text, if set, computes the output of a tool.
	text func(tool.Invocation) string
	// output, if set, runs the tools.
	output func(context.Context, tool.Invocation) (tool.Output, error)
}

func (w *toolbox) Set(context.Context, ledger.Agent, string) (tool.Set, error) {
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

func (w *toolbox) run(t agent.Tool) tool.Func {
	return func(ctx context.Context, call tool.Invocation) (tool.Output, error) {
		w.mu.Lock()
		w.runs[call.Name+" "+call.IdempotencyKey]++
		gate, gateAll := w.beforeWrite, w.beforeAny
		w.mu.Unlock()
		if gate != nil && !t.ReadOnly {
			gate(ctx, call)
		}
		if gateAll != nil {
			gateAll(ctx, call)
		}
		if w.output != nil {
			return w.output(ctx, call)
		}
		if w.text != nil {
			return tool.Output{Text: w.text(call)}, ctx.Err()
		}
		return tool.Output{Text: call.Name + " is done"}, ctx.Err()
	}
}

// hangOnce makes the next run hang until it is cancelled.
func (w *toolbox) hangOnce(running chan<- struct{}) {
	var calls atomic.Int32
	w.beforeAny = func(ctx context.Context, _ tool.Invocation) {
		if calls.Add(1) == 1 {
			running <- struct{}{}
			<-ctx.Done()
		}
	}
}

// count returns how often a tool ran; doubled are the calls that ran more than once.
func (w *toolbox) count(name string) (runs int, doubled []string) {
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
