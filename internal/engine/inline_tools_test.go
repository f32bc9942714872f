// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
)

const sum = `name: sum
rules:
- {match: {turn: 1}, reply: {toolCalls: [{name: calculator, arguments: {expression: '6 * 7'}}, {name: think, arguments: {thought: Well.}}]}}
- {match: {toolResult: {tool: think}}, reply: {toolCalls: [{name: submit_result, arguments: {result: It is 42.}}]}}
`

// The calls and answers of an inline tool are recorded in the same append as the reply that contains them and the next request.
func TestInlineToolsAreRecorded(t *testing.T) {
	w := newWorld(t, sum)
	w.crash()
	counted := &countingLedger{Ledger: w.ledger}
	w.start(counted)
	set, err := builtin.New(builtin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.engine.options.InlineTools = set
	w.task("sum", nil)
	w.untilEnded("sum")

	calls, err := w.ledger.ToolCalls(t.Context(), "uid-sum", ledger.Page{})
	if err != nil || len(calls.Items) != 2 {
		t.Fatalf("the ledger has the tool calls %v (%v), want two", calls.Items, err)
	}
	for _, call := range calls.Items {
		if call.Result == nil || call.Result.Status != ledger.StatusSuccess || call.Seq != 2 {
			t.Errorf("the ledger has %+v, want a success that follows the model's reply, event 2", call)
		}
	}
	events, err := w.ledger.Events(t.Context(), "uid-sum", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, e.Type)
	}
	want := []string{"Started", "ModelReplied", "ToolFinished", "ToolFinished", "ModelReplied"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the events (-want +got):\n%s", diff)
	}
	if n := counted.appends.Load(); n != 3 {
		t.Errorf("%d appends, want one for the start and one for each reply", n)
	}
}

// An inline tool that is slow does not block its agent: it runs as an ordinary effect.
func TestSlowInlineToolBecomesEffect(t *testing.T) {
	w := newWorld(t, sum)
	slow, err := tool.New(tool.Spec{Name: builtin.Calculator, Parameters: []byte(`{"type":"object"}`), ReadOnly: true},
		func(ctx context.Context, _ tool.Invocation) (tool.Output, error) {
			<-ctx.Done()
			return tool.Output{}, ctx.Err()
		})
	if err != nil {
		t.Fatal(err)
	}
	if w.engine.options.InlineTools, err = tool.NewSet(slow); err != nil {
		t.Fatal(err)
	}
	w.task("sum", nil)
	w.untilEnded("sum")
	calls, err := w.ledger.ToolCalls(t.Context(), "uid-sum", ledger.Page{})
	if err != nil || len(calls.Items) != 2 {
		t.Fatalf("the ledger has the tool calls %v (%v), want two", calls.Items, err)
	}
	for _, call := range calls.Items {
		if call.Result == nil || call.Result.Status != ledger.StatusSuccess {
			t.Errorf("%s ended with %+v, want the answer of the agent's own tool", call.Tool, call.Result)
		}
	}
}

type countingLedger struct {
	Ledger
	appends atomic.Int64
}

func (l *countingLedger) Append(ctx context.Context, b ledger.Batch) error {
	l.appends.Add(1)
	return l.Ledger.Append(ctx, b)
}
