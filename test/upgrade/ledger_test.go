// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // for reading a ledger directly
	_ "modernc.org/sqlite"             // the same

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/test/stack"
)

func (w *environment) openTables(t *testing.T) *sql.DB {
	t.Helper()
	driver, name := "pgx", w.LedgerURL
	if path, ok := strings.CutPrefix(w.LedgerURL, "sqlite:"); ok {
		driver, name = "sqlite", path
	}
	tables, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// history returns everything in a ledger that must never change: events and finished calls.
func (w *environment) history(ctx context.Context, t *testing.T) map[string]string {
	t.Helper()
	tables := w.openTables(t)
	defer func() {
		if err := tables.Close(); err != nil {
			t.Error(err)
		}
	}()
	rows, err := tables.QueryContext(ctx, `
		SELECT 'event ' || agent_uid || ' ' || CAST(seq AS TEXT), type || ' ' || CAST(data AS TEXT) FROM events
		UNION ALL SELECT 'model call ' || key, status || ' ' || CAST(request AS TEXT) || COALESCE(CAST(response AS TEXT), '') FROM model_calls WHERE finished_at IS NOT NULL
		UNION ALL SELECT 'tool call ' || key, status || ' ' || arguments FROM tool_calls WHERE finished_at IS NOT NULL`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // Err reports errors
	found := map[string]string{}
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			t.Fatal(err)
		}
		found[key] = value
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	w.readWhole(ctx, t, tables, found)
	return found
}

// firstWithReferences is the version of the schema since which tables contain references instead of texts.
const firstWithReferences = 9

// readWhole reads calls through the ledger if its tables may contain references instead of texts. That brings its schema up to date, as
// the newer operator does.
func (w *environment) readWhole(ctx context.Context, t *testing.T, tables *sql.DB, found map[string]string) {
	t.Helper()
	var version int
	if err := tables.QueryRowContext(ctx, `SELECT MAX(version) FROM schema_migrations`).Scan(&version); err != nil || version < firstWithReferences {
		return
	}
	l := ledgertest.Open(t, w.LedgerURL)
	for key := range found {
		if name, ok := strings.CutPrefix(key, "model call "); ok {
			call, err := l.ModelCall(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			found[key] = string(call.Result.Status) + " " + string(call.Request) + string(call.Result.Response)
		}
		if name, ok := strings.CutPrefix(key, "tool call "); ok {
			call, err := l.ToolCall(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			found[key] = string(call.Result.Status) + " " + call.Arguments
		}
	}
}

// expectKept checks that a ledger still has all of an earlier history, unchanged.
func (w *environment) expectKept(ctx context.Context, t *testing.T, before map[string]string) {
	t.Helper()
	after := w.history(ctx, t)
	for key, value := range before {
		if after[key] != value {
			t.Errorf("%s was\n%s\nand is\n%s", key, value, after[key])
		}
	}
	if len(before) < 30 || len(after) <= len(before) {
		t.Errorf("the history had %d rows and has %d", len(before), len(after))
	}
}

func (w *environment) dump(ctx context.Context, t *testing.T, ledger string) string {
	t.Helper()
	if ledger == stack.SQLite {
		return command(ctx, t, ".", "sqlite3", strings.TrimPrefix(w.LedgerURL, "sqlite:"), ".dump")
	}
	var output strings.Builder
	for line := range strings.Lines(command(ctx, t, ".", "pg_dump", "--inserts", "--no-owner", "--no-privileges", "--dbname", w.LedgerURL)) {
		if !strings.HasPrefix(line, `\`) { // commands of psql
			output.WriteString(line)
		}
	}
	return output.String()
}

// load fills an empty ledger from SQL.
func (w *environment) load(ctx context.Context, t *testing.T, ledger, text string) {
	t.Helper()
	if ledger == stack.SQLite {
		tables := w.openTables(t)
		if _, err := tables.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
		if err := tables.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	connection, err := pgx.Connect(ctx, w.LedgerURL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.PgConn().Exec(ctx, text).ReadAll(); err != nil {
		t.Fatal(err)
	}
	if err := connection.Close(ctx); err != nil {
		t.Fatal(err)
	}
}
