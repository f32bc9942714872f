// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
)

func testWorkspaceIsReplaced(t *testing.T, db Database) {
	l := db.Open(t)
	if _, err := l.WorkspaceOf(t.Context(), "chat"); !errors.Is(err, ledger.ErrNotFound) {
		t.Fatalf("an unknown workspace: %v, want ErrNotFound", err)
	}
	large := bytes.Repeat([]byte("\x00\xff patch"), 1<<20)
	for i, archive := range [][]byte{large, {}, nil, []byte("last")} {
		w := ledger.Workspace{Owner: "chat", Source: "Git", CapturedAt: at(i), Summary: json.RawMessage(`{"diff":"\u0000 ä","n": 1}`), Archive: archive}
		if err := l.KeepWorkspace(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		got := must(l.WorkspaceOf(t.Context(), "chat"))(t)
		if got.Owner != w.Owner || got.Source != w.Source || !got.CapturedAt.Equal(w.CapturedAt) || string(got.Summary) != string(w.Summary) {
			t.Errorf("read %+v, want %+v", got, w)
		}
		if !bytes.Equal(got.Archive, archive) {
			t.Errorf("archive %d has %d bytes, want %d", i, len(got.Archive), len(archive))
		}
	}
	if n := db.rows(t, "workspace_changes"); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
	for _, bad := range []ledger.Workspace{{CapturedAt: at(0), Summary: json.RawMessage(`{}`)}, {Owner: "a", Summary: json.RawMessage(`{}`)}, {Owner: "a", CapturedAt: at(0)}} {
		if err := l.KeepWorkspace(t.Context(), bad); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", bad, err)
		}
	}
}

func testWorkspacesAreDeletedWithTheirOwners(t *testing.T, db Database) {
	l := db.Open(t)
	old := First(Agent("old"), 1)
	old.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: at(10)}
	Append(t, l, old, First(Agent("live"), 1))
	for owner, second := range map[string]int{"old": 20, "live": 20, "gone": 20, "recent": 600} {
		if err := l.KeepWorkspace(t.Context(), ledger.Workspace{Owner: owner, Source: "Git", CapturedAt: at(second), Summary: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	must(ledger.Retain(t.Context(), l, at(500)))(t)
	for owner, kept := range map[string]bool{"old": false, "live": true, "gone": false, "recent": true} {
		if _, err := l.WorkspaceOf(t.Context(), owner); errors.Is(err, ledger.ErrNotFound) == kept {
			t.Errorf("the workspace of %s: %v, want that it is kept: %v", owner, err, kept)
		}
	}
}
