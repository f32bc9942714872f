// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/tool"
)

func calls(names ...string) []tool.Call {
	all := make([]tool.Call, 0, len(names))
	for _, name := range names {
		all = append(all, tool.Call{ID: name, Name: name})
	}
	return all
}

func TestCallsThatWriteRunAloneAndInOrder(t *testing.T) {
	set := makeSet(t,
		makeTool(t, tool.Spec{Name: "read", ReadOnly: true}, say("")),
		makeTool(t, tool.Spec{Name: "grep", ReadOnly: true}, say("")),
		makeTool(t, tool.Spec{Name: "write"}, say("")),
		makeTool(t, tool.Spec{Name: "set", Idempotent: true}, say("")))
	for _, c := range []struct {
		calls []string
		want  [][]string
	}{
		{nil, [][]string{}},
		{[]string{"read", "grep", "nosuch", "read"}, [][]string{{"read", "grep", "nosuch", "read"}}},
		{[]string{"write", "write"}, [][]string{{"write"}, {"write"}}},
		{[]string{"read", "write", "read", "grep", "set"}, [][]string{{"read"}, {"write"}, {"read", "grep"}, {"set"}}},
	} {
		batches := tool.Batches(set, calls(c.calls...))
		got := make([][]string, len(batches))
		for i, batch := range batches {
			for _, call := range batch {
				got[i] = append(got[i], call.Name)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("batches of %v (-want +got):\n%s", c.calls, diff)
		}
	}
}

func TestParallelCallsAreBoundedAndAnsweredInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		slow := func(_ context.Context, call tool.Call) (tool.Output, error) {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer running.Add(-1)
			// Later calls finish first.
			<-time.After(time.Duration(10-len(call.ID)) * time.Second)
			return tool.Output{Text: call.ID}, nil
		}
		set := makeSet(t, makeTool(t, tool.Spec{Name: "slow", ReadOnly: true}, slow))
		var batch []tool.Call
		for id := ""; len(id) < 7; id += "x" {
			batch = append(batch, tool.Call{ID: id + "x", Name: "slow"})
		}
		for i, result := range (tool.Executor{Parallel: 3}).ExecuteAll(t.Context(), set, batch) {
			if result.CallID != batch[i].ID || result.Text != batch[i].ID {
				t.Errorf("result %d is of call %q, want %q", i, result.CallID, batch[i].ID)
			}
		}
		if most.Load() != 3 {
			t.Errorf("%d calls ran at once, want 3", most.Load())
		}
	})
}
