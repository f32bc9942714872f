// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/test/bench/measure"
)

// write records model calls of an agent 100 ms apart, each with a tool call except the last.
func write(ctx context.Context, l ledger.Ledger, uid string, began time.Time, calls int) error {
	batch := ledger.Batch{Agent: uid, Create: &ledger.Agent{UID: uid, Kind: "SubAgent", Namespace: "bench", Name: uid, Role: "worker", Root: uid, CreatedAt: began}}
	for i := range calls {
		at := began.Add(time.Duration(i) * 100 * time.Millisecond)
		batch.Events = append(batch.Events, ledger.Event{Type: "Restarted", At: at, Data: []byte("{}")}, ledger.Event{Type: "ModelReplied", At: at.Add(time.Second), Data: []byte("{}")})
		model := fmt.Sprintf("%s/model-%d", uid, i)
		batch.ModelCalls = append(batch.ModelCalls, ledger.ModelCall{Key: model, Seq: 1, Iteration: i + 1, Request: []byte("{}"), StartedAt: at})
		batch.ModelResults = append(batch.ModelResults, ledger.ModelResult{Key: model, Status: ledger.StatusSuccess, FinishedAt: at})
		if i < calls-1 {
			tool := fmt.Sprintf("%s/tool-%d", uid, i)
			batch.ToolCalls = append(batch.ToolCalls, ledger.ToolCall{Key: tool, Seq: 1, Tool: "calculator", StartedAt: at})
			batch.ToolResults = append(batch.ToolResults, ledger.ToolResult{Key: tool, Status: ledger.StatusSuccess, FinishedAt: at})
		}
	}
	return l.Append(ctx, batch)
}

func TestLedgerQueries(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")
	written := ledgertest.Open(t, url)
	began := time.Now().Truncate(time.Second)
	for uid, at := range map[string]time.Time{"before": began.Add(-time.Hour), "a": began, "b": began.Add(time.Minute)} {
		if err := write(t.Context(), written, uid, at, 3); err != nil {
			t.Fatal(err)
		}
	}
	l, err := measure.OpenLedger(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, count := range map[string]struct {
		of   func(context.Context, time.Time) (int64, error)
		want int64
	}{"turns": {l.Turns, 4}, "model calls": {l.ModelCalls, 6}, "started agents": {l.Started, 2}, "failed calls": {l.FailedCalls, 0}} {
		if got, err := count.of(t.Context(), began); err != nil || got != count.want {
			t.Errorf("%s: %d (%v), want %d", name, got, err, count.want)
		}
	}
	turns, err := l.EachTurn(t.Context(), "worker", began)
	if err != nil {
		t.Fatal(err)
	}
	hundred := 100 * time.Millisecond
	if diff := cmp.Diff([]measure.Turn{{1, hundred}, {2, hundred}, {1, hundred}, {2, hundred}}, turns); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
	first, err := l.FirstEvents(t.Context(), began, "Restarted")
	want := map[string]time.Time{"a": began.Add(time.Second), "b": began.Add(time.Minute + time.Second)}
	if diff := cmp.Diff(want, first); diff != "" || err != nil {
		t.Errorf("first events (%v) (-want +got):\n%s", err, diff)
	}
	if most, err := l.MaxActive(t.Context(), "worker", began.Add(-2*time.Hour)); err != nil || most != 1 {
		t.Errorf("%d agents active at the same time (%v), want 1", most, err)
	}
	if err := write(t.Context(), written, "c", began.Add(time.Minute+150*time.Millisecond), 3); err != nil {
		t.Fatal(err)
	}
	if most, err := l.MaxActive(t.Context(), "worker", began); err != nil || most != 2 {
		t.Errorf("%d agents active at the same time (%v), want 2", most, err)
	}
	chat := ledger.Batch{Agent: "d", Create: &ledger.Agent{UID: "d", Kind: "SubAgent", Namespace: "bench", Name: "d", Role: "lead", Root: "d", Chat: "talk", CreatedAt: began}}
	chat.Events = []ledger.Event{{Type: "Started", At: began, Data: []byte("{}")}}
	chat.ModelCalls = []ledger.ModelCall{{Key: "d/1", Seq: 1, Request: []byte("{}"), StartedAt: began}, {Key: "d/2", Seq: 1, Request: []byte("{}"), StartedAt: began}}
	chat.ModelResults = []ledger.ModelResult{{Key: "d/1", Status: ledger.StatusSuccess, FinishedAt: began.Add(time.Second)}}
	if err := written.Append(t.Context(), chat); err != nil {
		t.Fatal(err)
	}
	calls, err := l.CallsOf(t.Context(), "talk")
	if diff := cmp.Diff(map[string][]measure.ModelCall{"lead": {{Started: began, Finished: began.Add(time.Second)}}}, calls); diff != "" || err != nil {
		t.Errorf("calls of the chat (%v) (-want +got):\n%s", err, diff)
	}
	if size, err := l.Bytes(t.Context()); err != nil || size < 4096 {
		t.Errorf("%d bytes (%v)", size, err)
	}
}
