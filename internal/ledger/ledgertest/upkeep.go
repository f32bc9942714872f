// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
)

// aged returns a batch with calls and a snapshot that starts an agent, and ends it at a time unless that is zero.
func aged(uid string, events int, end time.Time) ledger.Batch {
	batch := First(Agent(uid), events)
	batch.ModelCalls = []ledger.ModelCall{modelCall(uid+"/m", 1)}
	batch.ToolCalls = []ledger.ToolCall{toolCall(uid+"/t", "c", 1)}
	batch.Snapshot = []byte(`{}`)
	if !end.IsZero() {
		batch.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: end}
	}
	return batch
}

func (d Database) rows(t testing.TB, table string) int {
	t.Helper()
	var n int
	if err := d.Raw.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (d Database) allRows(t testing.TB) string {
	t.Helper()
	tables := []string{"agents", "events", "snapshots", "model_calls", "tool_calls"}
	counts := make([]string, len(tables))
	for i, table := range tables {
		counts[i] = fmt.Sprintf("%s %d", table, d.rows(t, table))
	}
	return strings.Join(counts, ", ")
}

func testPruneKeepsLiveAgents(t *testing.T, db Database) {
	l := db.Open(t)
	Append(t, l, aged("old", 5, at(10)), aged("young", 5, at(1000)), aged("live", 5, time.Time{}))
	if n := must(l.Prune(t.Context(), at(500), 0))(t); n != 9 {
		t.Errorf("%d rows were deleted, want the 9 of the old agent", n)
	}
	if n := must(l.Prune(t.Context(), at(500), 0))(t); n != 0 {
		t.Errorf("%d more rows were deleted", n)
	}
	if got, want := db.allRows(t), "agents 2, events 10, snapshots 2, model_calls 2, tool_calls 2"; got != want {
		t.Errorf("remaining rows: %s, want %s", got, want)
	}
	if _, err := l.Load(t.Context(), "old"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("load the old agent: %v, want ErrNotFound", err)
	}
	if must(l.Prune(t.Context(), time.Now().AddDate(100, 0, 0), 0))(t); db.rows(t, "agents") != 1 {
		t.Error("the live agent was deleted with a limit in the far future")
	}
}

func testPruneWorksInSmallSteps(t *testing.T, db Database) {
	l := db.Open(t)
	Append(t, l, aged("one", 40, at(1)), aged("two", 40, at(2)), aged("live", 40, time.Time{}))
	first := must(l.Prune(t.Context(), at(500), 10))(t)
	if first != 10 || db.rows(t, "events") != 110 {
		t.Errorf("%d rows were deleted in a step of 10, and %d events remain, want 110", first, db.rows(t, "events"))
	}
	// An agent that is partly deleted must not look like one with a gap in its history.
	for _, uid := range []string{"one", "two"} {
		if _, err := l.Load(t.Context(), uid); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("load %s while it is being deleted: %v, want ErrNotFound", uid, err)
		}
		err := l.Append(t.Context(), ledger.Batch{Agent: uid, After: 40, Events: Events("late", 1)})
		if !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("append to %s while it is being deleted: %v, want ErrNotFound", uid, err)
		}
	}
	steps := 1
	for n := first; n > 0; steps++ {
		if n = must(l.Prune(t.Context(), at(500), 10))(t); n > 10 {
			t.Fatalf("a step of 10 deleted %d rows", n)
		}
	}
	if steps < 10 {
		t.Errorf("88 rows were deleted in %d steps of 10", steps)
	}
	if got, want := db.allRows(t), "agents 1, events 40, snapshots 1, model_calls 1, tool_calls 1"; got != want {
		t.Errorf("remaining rows: %s, want %s", got, want)
	}
}

func testRetentionDoesNotStopWriters(t *testing.T, db Database) {
	l := db.Open(t)
	for i := range 20 {
		batch := aged(fmt.Sprintf("old-%d", i), 5, at(1))
		batch.ToolResults = []ledger.ToolResult{{Key: batch.ToolCalls[0].Key, Status: ledger.StatusSuccess, Output: make([]byte, 100_000), FinishedAt: at(2)}}
		Append(t, l, batch)
	}
	Append(t, l, First(Agent("writer"), 1))
	done := make(chan error, 1)
	go func() {
		n, err := ledger.Retain(context.WithoutCancel(t.Context()), l, at(500))
		if err == nil && n != 20*9 {
			err = fmt.Errorf("%d rows were deleted, want %d", n, 20*9)
		}
		done <- err
	}()
	seq := int64(1)
	for running := true; running; seq++ {
		Append(t, l, ledger.Batch{Agent: "writer", After: seq, Events: Events("writer", 1)})
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("retain: %v", err)
			}
			running = false
		default:
		}
	}
	unchanged(t, l, "writer", seq)
}

func testConcurrentOpenOfAnEmptyDatabase(t *testing.T, db Database) {
	inParallel(t, 8, func(i int) error {
		l, err := connect.Open(t.Context(), db.DSN)
		if err != nil {
			return err
		}
		return errors.Join(l.Append(t.Context(), First(Agent(fmt.Sprintf("a%d", i)), 1)), l.Close())
	})
	if got := db.rows(t, "agents"); got != 8 {
		t.Errorf("%d agents, want 8", got)
	}
}

func testLedgerFromBeforeTheFirstReleaseIsRefused(t *testing.T, db Database) {
	db.Open(t)
	db.Exec(t, `UPDATE schema_migrations SET name = 'ledger' WHERE version = 1`)
	_, err := connect.Open(t.Context(), db.DSN)
	var failure *ledger.Error
	if !errors.As(err, &failure) || failure.Reason != ledger.ReasonSchemaTooOld || !strings.Contains(err.Error(), "start over") {
		t.Errorf("open: %v, want %s and what to do", err, ledger.ReasonSchemaTooOld)
	}
}

func testNewerSchemaIsRefused(t *testing.T, db Database) {
	db.Open(t)
	db.Exec(t, `INSERT INTO schema_migrations (version, name, applied_at) VALUES (999, 'future', 0)`)
	_, err := connect.Open(t.Context(), db.DSN)
	var failure *ledger.Error
	if !errors.As(err, &failure) || failure.Reason != ledger.ReasonSchemaTooNew || !errors.Is(err, ledger.ErrNeedsAttention) {
		t.Fatalf("open: %v, want %s", err, ledger.ReasonSchemaTooNew)
	}
	if !strings.Contains(err.Error(), "version 999") || !strings.Contains(err.Error(), "newer operator") {
		t.Errorf("the message does not say what to do: %v", err)
	}
}
