// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// unchanged checks that an agent has exactly these events and no open call.
func unchanged(t *testing.T, l ledger.Ledger, agent string, seq int64) {
	t.Helper()
	history := must(l.Load(t.Context(), agent))(t)
	if got := history.Agent.LastSeq; got != seq || int64(len(history.Events)) != seq {
		t.Errorf("agent %s is at %d with %d events, want %d", agent, got, len(history.Events), seq)
	}
	if open := must(l.OpenCalls(t.Context(), agent))(t); len(open.Models)+len(open.Tools) != 0 {
		t.Errorf("agent %s has calls of a refused batch: %v", agent, open)
	}
}

func testBatchIsAtomic(t *testing.T, db Database) {
	l := db.Open(t)
	taken := First(Agent("b"), 1)
	taken.ModelCalls = []ledger.ModelCall{modelCall("m1", 0)}
	taken.ToolCalls = []ledger.ToolCall{toolCall("t1", "call_0", 0)}
	Append(t, l, First(Agent("a"), 1), taken)

	batch := func(change func(*ledger.Batch)) ledger.Batch {
		b := ledger.Batch{Agent: "a", After: 1, Events: Events("a", 2), ModelCalls: []ledger.ModelCall{modelCall("m2", 1)}}
		change(&b)
		return b
	}
	for name, test := range map[string]struct {
		batch ledger.Batch
		want  error
	}{
		"model key taken": {batch(func(b *ledger.Batch) { b.ModelCalls = append(b.ModelCalls, modelCall("m1", 1)) }), ledger.ErrKeyTaken},
		"tool key taken":  {batch(func(b *ledger.Batch) { b.ToolCalls = []ledger.ToolCall{toolCall("t1", "call_0", 1)} }), ledger.ErrKeyTaken},
		"model result without intent": {batch(func(b *ledger.Batch) {
			b.ModelResults = []ledger.ModelResult{modelDone("m9", ledger.StatusSuccess, 2)}
		}), ledger.ErrNoIntent},
		"result for another agent's call": {batch(func(b *ledger.Batch) {
			b.ModelResults = []ledger.ModelResult{modelDone("m1", ledger.StatusSuccess, 2)}
		}), ledger.ErrNoIntent},
		"tool result without intent": {batch(func(b *ledger.Batch) {
			b.ToolResults = []ledger.ToolResult{{Key: "t9", Status: ledger.StatusSuccess, FinishedAt: at(2)}}
		}), ledger.ErrNoIntent},
		"two results": {batch(func(b *ledger.Batch) {
			b.ModelResults = []ledger.ModelResult{modelDone("m2", ledger.StatusSuccess, 2), modelDone("m2", ledger.StatusFailed, 2)}
		}), ledger.ErrNoIntent},
	} {
		t.Run(name, func(t *testing.T) {
			if err := l.Append(t.Context(), test.batch); !errors.Is(err, test.want) {
				t.Errorf("append: %v, want %v", err, test.want)
			}
			unchanged(t, l, "a", 1)
		})
	}
}

func testInvalidBatchIsRefused(t *testing.T, db Database) {
	l := db.Open(t)
	Append(t, l, First(Agent("a"), 1))
	for name, change := range map[string]func(*ledger.Batch){
		"no agent":           func(b *ledger.Batch) { b.Agent = "" },
		"negative sequence":  func(b *ledger.Batch) { b.After = -1 },
		"event not JSON":     func(b *ledger.Batch) { b.Events[0].Data = json.RawMessage(`{"a":`) },
		"event not UTF-8":    func(b *ledger.Batch) { b.Events[0].Data = json.RawMessage("\"\xff\"") },
		"event without type": func(b *ledger.Batch) { b.Events[0].Type = "" },
		"event without time": func(b *ledger.Batch) { b.Events[0].At = time.Time{} },
		"snapshot not JSON":  func(b *ledger.Batch) { b.Snapshot = json.RawMessage(`nonsense`) },
		"record twice":       func(b *ledger.Batch) { b.Create = ptr(Agent("a")) },
		"record of another":  func(b *ledger.Batch) { b.After, b.Create = 0, ptr(Agent("b")) },
		"finish while running": func(b *ledger.Batch) {
			b.Finish = &ledger.Finish{Status: ledger.StatusRunning, At: start}
		},
		"model call without key":   func(b *ledger.Batch) { b.ModelCalls = []ledger.ModelCall{modelCall("", 1)} },
		"model call without start": func(b *ledger.Batch) { b.ModelCalls = []ledger.ModelCall{{Key: "m", Request: json.RawMessage(`{}`)}} },
		"request not JSON":         func(b *ledger.Batch) { b.ModelCalls = []ledger.ModelCall{{Key: "m", StartedAt: start}} },
		"tool call without key":    func(b *ledger.Batch) { b.ToolCalls = []ledger.ToolCall{toolCall("", "c", 1)} },
		"result still running": func(b *ledger.Batch) {
			b.ModelResults = []ledger.ModelResult{modelDone("m", ledger.StatusRunning, 1)}
		},
		"response not JSON": func(b *ledger.Batch) {
			b.ModelResults = []ledger.ModelResult{{Key: "m", Status: ledger.StatusSuccess, FinishedAt: start, Response: json.RawMessage("x")}}
		},
		"tool result without end": func(b *ledger.Batch) { b.ToolResults = []ledger.ToolResult{{Key: "t", Status: ledger.StatusSuccess}} },
	} {
		t.Run(name, func(t *testing.T) {
			batch := ledger.Batch{Agent: "a", After: 1, Events: Events("a", 1)}
			change(&batch)
			if err := l.Append(t.Context(), batch); !errors.Is(err, ledger.ErrInvalid) {
				t.Errorf("append: %v, want ErrInvalid", err)
			}
			unchanged(t, l, "a", 1)
		})
	}
}

func testStaleWriterGetsConflict(t *testing.T, db Database) {
	one, two := db.Open(t), db.Open(t)
	Append(t, one, First(Agent("a"), 2))
	Append(t, two, ledger.Batch{Agent: "a", After: 2, Events: Events("two", 3)})

	for name, batch := range map[string]ledger.Batch{
		"behind":                {Agent: "a", After: 2, Events: Events("one", 1), ModelCalls: []ledger.ModelCall{modelCall("m", 1)}, Snapshot: json.RawMessage(`{}`)},
		"ahead":                 {Agent: "a", After: 7, Events: Events("one", 1)},
		"again":                 First(Agent("a"), 2),
		"behind without events": {Agent: "a", After: 2, ToolCalls: []ledger.ToolCall{toolCall("t", "c", 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			err := one.Append(t.Context(), batch)
			var conflict *ledger.ConflictError
			if !errors.As(err, &conflict) {
				t.Fatalf("append: %v, want a conflict", err)
			}
			if conflict.Agent != "a" || conflict.Seq != batch.After+1 || conflict.LastSeq != 5 {
				t.Errorf("conflict %+v, want agent a, seq %d, last 5", conflict, batch.After+1)
			}
			unchanged(t, one, "a", 5)
		})
	}
	// A writer that has loaded the agent again can continue.
	Append(t, one, ledger.Batch{Agent: "a", After: 5, Events: Events("one", 1)})
}
