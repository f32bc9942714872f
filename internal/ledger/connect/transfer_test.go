// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
	"github.com/nestor-dev/nestor/internal/ledger/transfer"
)

// runtimeTables belong to running operators, or to the database itself. A new table is copied unless it is added here
// and in package transfer.
var runtimeTables = []string{"schema_migrations", "shards", "replicas", "settings", "shares", "detached_calls", "search_agents", "search_entries"}

// column is a column of the schema in PostgreSQL, whose types are stricter.
type column struct {
	table, name, kind, nullable string
}

// TestTransferSurvivesKills fills all tables of a SQLite ledger, copies it to PostgreSQL and back with processes that
// are killed at random moments, and compares all rows.
func TestTransferSurvivesKills(t *testing.T) {
	if server == nil {
		t.Skip(pgserver.ErrNotInstalled)
	}
	source, back := newSQLite(t), newSQLite(t)
	middle := ledgertest.Postgres(t, server)
	middle.Open(t)
	columns := columnsOf(t, middle.Raw)
	fill(t, source, columns)
	transferWithKills(t, source.dsn, middle.DSN)
	transferWithKills(t, middle.DSN, back.dsn)
	for table, list := range columns {
		want, got := dump(t, source.raw, table, list), dump(t, back.raw, table, list)
		if len(want) == 0 {
			t.Errorf("table %s is not tested", table)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("table %s differs after the way back (-source +copy):\n%s", table, diff)
		}
	}
	var counter int64
	if err := back.raw.QueryRowContext(t.Context(), "SELECT seq FROM sqlite_sequence WHERE name = 'agents'").Scan(&counter); err != nil || counter != lastNumber {
		t.Errorf("the next agent would get the number after %d, want %d: %v", counter, lastNumber, err)
	}
	// The copy is a ledger.
	l := ledgertest.Open(t, back.dsn)
	ledgertest.Append(t, l, ledgertest.First(ledgertest.Agent("new"), 1))
}

func TestTransferRefusals(t *testing.T) {
	source := newSQLite(t)
	ledgertest.Append(t, ledgertest.Open(t, source.dsn), ledgertest.First(ledgertest.Agent("a"), 3))
	t.Run("target with another history", func(t *testing.T) {
		target := newSQLite(t)
		ledgertest.Append(t, ledgertest.Open(t, target.dsn), ledgertest.First(ledgertest.Agent("b"), 1))
		expectRefusal(t, source.dsn, target.dsn, "is not empty")
	})
	t.Run("the same ledger", func(t *testing.T) { expectRefusal(t, source.dsn, source.dsn, "same ledger") })
	t.Run("missing source", func(t *testing.T) {
		missing := filepath.Join(t.TempDir(), "missing.db")
		if err := connect.Transfer(t.Context(), "sqlite:"+missing, newSQLite(t).dsn, transfer.Options{}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("interrupted copy of another ledger", func(t *testing.T) {
		target := newSQLite(t)
		interrupt(t, source.dsn, target.dsn)
		if _, err := connect.Open(t.Context(), target.dsn); err == nil || !strings.Contains(err.Error(), "run the interrupted") {
			t.Errorf("an operator opens an incomplete ledger: %v", err)
		}
		expectRefusal(t, newSQLite(t).dsn, target.dsn, "part of another ledger")
		if err := connect.Transfer(t.Context(), source.dsn, target.dsn, transfer.Options{}); err != nil {
			t.Errorf("the interrupted copy does not continue: %v", err)
		}
	})
	t.Run("unrecorded result", func(t *testing.T) {
		exec1(t, source.raw, "INSERT INTO detached_calls (key, agent_uid, shard, replica, expires_at, result) VALUES ('k', 'a', 2, 'r', 0, X'00')")
		expectRefusal(t, source.dsn, newSQLite(t).dsn, "no operator has recorded")
		exec1(t, source.raw, "DELETE FROM detached_calls")
	})
	t.Run("password", func(t *testing.T) {
		err := connect.Transfer(t.Context(), source.dsn, "postgres://user:pa55word@127.0.0.1:1/db", transfer.Options{})
		if !errors.Is(err, ledger.ErrUnavailable) || strings.Contains(err.Error(), "pa55word") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("running operator", func(t *testing.T) {
		exec1(t, source.raw, "INSERT INTO shards (shard, epoch, holder, taken_at) VALUES (1, 1, 'operator', 0)")
		expectRefusal(t, source.dsn, newSQLite(t).dsn, "an operator owns")
	})
}

func expectRefusal(t *testing.T, from, to, message string) {
	t.Helper()
	err := connect.Transfer(t.Context(), from, to, transfer.Options{})
	if !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), message) {
		t.Errorf("got %v, want %q", err, message)
	}
}

// interrupt runs a transfer that ends after the first batch.
func interrupt(t *testing.T, from, to string) {
	t.Helper()
	const stopped = "stopped"
	func() {
		defer func() {
			if recover() != stopped {
				t.Error("the transfer was not interrupted")
			}
		}()
		_ = connect.Transfer(t.Context(), from, to, transfer.Options{Report: func(transfer.Progress) { panic(stopped) }})
	}()
}

type sqliteLedger struct {
	dsn string
	raw *sql.DB
}

// newSQLite creates an empty ledger.
func newSQLite(t *testing.T) sqliteLedger {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ledger.db")
	l, err := connect.Open(t.Context(), "sqlite:"+file)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	return sqliteLedger{dsn: "sqlite:" + file, raw: raw}
}

func exec1(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// columnsOf returns the columns of the tables that are copied.
func columnsOf(t *testing.T, postgres *sql.DB) map[string][]column {
	t.Helper()
	rows, err := postgres.QueryContext(t.Context(), `SELECT c.table_name, c.column_name, c.data_type, c.is_nullable
		FROM information_schema.columns c JOIN information_schema.tables USING (table_schema, table_name)
		WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY c.table_name, c.ordinal_position`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // Err reports the error
	columns := map[string][]column{}
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.table, &c.name, &c.kind, &c.nullable); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(runtimeTables, c.table) {
			columns[c.table] = append(columns[c.table], c)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return columns
}

const (
	rowsPerTable = 150
	// lastNumber is the number of an agent that was deleted.
	lastNumber = 100_000
)

// fill writes random rows to all tables.
func fill(t *testing.T, l sqliteLedger, columns map[string][]column) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for table, list := range columns {
		for n := range rowsPerTable {
			var names, marks []string
			var values []any
			for _, c := range list {
				names, marks = append(names, c.name), append(marks, "?")
				values = append(values, value(c, n, random))
			}
			exec1(t, l.raw, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(marks, ", ")), values...)
		}
	}
	exec1(t, l.raw, "UPDATE sqlite_sequence SET seq = ? WHERE name = 'agents'", lastNumber)
}

// value returns the value of a column in row n. Rows differ in every column, so that keys are unique.
func value(c column, n int, random *rand.Rand) any {
	if c.nullable == "YES" && random.IntN(3) == 0 {
		return nil
	}
	switch c.kind {
	case "boolean":
		return random.IntN(2)
	case "bytea":
		return append([]byte(fmt.Sprint(n)), byte(random.IntN(256)))[:random.IntN(3)]
	case "json":
		return fmt.Sprintf(`{"b": %d,  "a": "Grüße \u0041", "n": 1.0}`, n)
	case "text":
		return fmt.Sprintf("%c%d 'quoted' \"text\"\n", 'A'+random.IntN(60), n)
	case "smallint", "integer":
		return n
	}
	return int64(n+1)<<20 + 7
}

// dump returns the rows of a table as sorted texts.
func dump(t *testing.T, db *sql.DB, table string, columns []column) []string {
	t.Helper()
	var names []string
	for _, c := range columns {
		names = append(names, fmt.Sprintf("quote(%s)", c.name))
	}
	rows, err := db.QueryContext(t.Context(), fmt.Sprintf("SELECT %s FROM %s", strings.Join(names, " || ',' || "), table))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // Err reports the error
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

// transferWithKills runs processes that copy a ledger. Each is killed after a random number of batches, until one
// reaches the end.
func transferWithKills(t *testing.T, from, to string) {
	t.Helper()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	kills := 0
	for {
		killed, err := runAndKill(t, from, to, 1+random.IntN(30))
		if err != nil {
			t.Fatalf("seed %d, after %d kills: %v", seed, kills, err)
		}
		if !killed {
			break
		}
		kills++
	}
	if kills == 0 {
		t.Error("no process was killed")
	}
	t.Logf("%d processes were killed", kills)
}

func runAndKill(t *testing.T, from, to string, batches int) (killed bool, err error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		return false, err
	}
	cmd := exec.CommandContext(t.Context(), program, from, to)
	cmd.Env = append(os.Environ(), childRole+"=1")
	var messages strings.Builder
	cmd.Stderr = &messages
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	scanner := bufio.NewScanner(out)
	for n := 0; scanner.Scan(); n++ {
		if n == batches && !strings.HasSuffix(scanner.Text(), "true") {
			killed = true
			_ = cmd.Process.Kill()
		}
	}
	err = cmd.Wait()
	if killed {
		return true, nil
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, messages.String())
	}
	return false, err
}
