// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
)

// earlier unpacks a ledger of the last release before texts were stored once: a chat and a sub-agent below it.
func earlier(t *testing.T) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", "before-linear.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// earlierCall is a model call as recorded by that release.
type earlierCall struct {
	key               string
	request, response []byte
}

func earlierCalls(t *testing.T, path string) (calls []earlierCall, size int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), `SELECT key, request, response FROM model_calls`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var c earlierCall
		if err := rows.Scan(&c.key, &c.request, &c.response); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, c)
		size += len(c.request)
	}
	if err := rows.Err(); err != nil || len(calls) == 0 {
		t.Fatalf("the ledger of the earlier release has %d calls (%v)", len(calls), err)
	}
	return calls, size
}

func TestLedgerOfAnEarlierReleaseIsReadByteForByte(t *testing.T) {
	path := earlier(t)
	calls, before := earlierCalls(t, path)
	l, err := connect.Open(t.Context(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	check := func() {
		t.Helper()
		for _, want := range calls {
			got, err := l.ModelCall(t.Context(), want.key)
			if err != nil || !bytes.Equal(got.Request, want.request) || !bytes.Equal(got.Result.Response, want.response) {
				t.Errorf("call %s (%v) is read as\n%s\n%s\nand was\n%s\n%s", want.key, err, got.Request, got.Result.Response, want.request, want.response)
			}
		}
		agents, err := l.Agents(t.Context(), ledger.AgentFilter{}, ledger.Page{})
		if err != nil || len(agents.Items) != 2 {
			t.Fatalf("the agents are %v (%v)", agents, err)
		}
		for _, a := range agents.Items {
			history, err := l.Load(t.Context(), a.UID)
			if err != nil {
				t.Fatal(err)
			}
			if history.Snapshot != nil {
				if _, err := agent.DecodeState(history.Snapshot.Data); err != nil {
					t.Errorf("the snapshot of %s: %v", a.Name, err)
				}
			}
		}
	}
	check()
	n, err := ledger.Condense(t.Context(), l, func(int64) {})
	if err != nil || n == 0 {
		t.Fatalf("%d calls were condensed: %v", n, err)
	}
	check()
	after := 0
	if calls, after = earlierCalls(t, path); after > before/2 {
		t.Errorf("the requests took %d bytes and take %d", before, after)
	}
	for _, c := range calls {
		if !json.Valid(c.request) {
			t.Errorf("the request of %s is not JSON in the table: %s", c.key, c.request)
		}
	}
	if n, err := l.Condense(t.Context(), 0); n != 0 || err != nil {
		t.Errorf("%d calls are checked again (%v)", n, err)
	}
}
