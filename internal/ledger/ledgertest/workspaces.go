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
		w := ledger.Workspace{Owner: "chat", Agent: "chat", Source: "Git", CapturedAt: at(i), Summary: json.RawMessage(`{"diff":"\u0000 ä","n": 1}`), Archive: archive}
		if err := l.KeepWorkspace(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		got := must(l.WorkspaceOf(t.Context(), "chat"))(t)
		if got.Owner != w.Owner || got.Agent != w.Agent || got.Source != w.Source || !got.CapturedAt.Equal(w.CapturedAt) || string(got.Summary) != string(w.Summary) {
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
	keep := func(owner, agent string, second int) {
		w := ledger.Workspace{Owner: owner, Agent: agent, Source: "Git", CapturedAt: at(second), Summary: json.RawMessage(`{}`)}
		if err := l.KeepWorkspace(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	keep("old", "", 20)
	keep("live", "", 20)
	keep("gone", "", 20)
	keep("recent", "", 600)
	keep("task-of-old", "old", 20)
	if got := must(l.WorkspaceOfAgent(t.Context(), "live"))(t); got.Owner != "live" {
		t.Errorf("the agent live has the workspace of %q", got.Owner)
	}
	if _, err := l.WorkspaceOfAgent(t.Context(), "unknown"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("an unknown agent's workspace: %v, want ErrNotFound", err)
	}
	keep("task-of-live", "live", 20)
	must(ledger.Retain(t.Context(), l, at(500)))(t)
	for owner, kept := range map[string]bool{"old": false, "live": true, "gone": false, "recent": true, "task-of-old": false, "task-of-live": true} {
		if _, err := l.WorkspaceOf(t.Context(), owner); errors.Is(err, ledger.ErrNotFound) == kept {
			t.Errorf("the workspace of %s: %v, want that it is kept: %v", owner, err, kept)
		}
	}
}

// testWorkspacesCountInTheirNamespace keeps changes twice, so that the last ones count, and prunes them.
func testWorkspacesCountInTheirNamespace(t *testing.T, db Database) {
	l := db.Open(t)
	one, two := First(Agent("one"), 1), First(Agent("two"), 1)
	one.Create.NamespaceUID, two.Create.Namespace = "uid-1", "team-b"
	one.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: at(10)}
	Append(t, l, one, two)
	summary := json.RawMessage(`{"diff":"ä"}`)
	for _, size := range []int{70_000, 100_000} {
		w := ledger.Workspace{Owner: "task", Agent: "one", Source: "Git", CapturedAt: at(20), Summary: summary, Archive: make([]byte, size)}
		if err := l.KeepWorkspace(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	sizes := func() map[string]int64 {
		bytes := map[string]int64{}
		for _, b := range must(l.Bytes(t.Context()))(t) {
			bytes[b.Namespace+"/"+b.UID] = b.Bytes
		}
		return bytes
	}
	want := int64(one.Size() + 100_000 + len(summary))
	if got := sizes(); got["team-a/uid-1"] != want || got["team-b/"] != int64(two.Size()) {
		t.Errorf("the bytes are %v, want %d and %d", got, want, two.Size())
	}
	must(ledger.Retain(t.Context(), l, at(500)))(t)
	if got := sizes(); len(got) != 1 {
		t.Errorf("after pruning, the bytes are %v", got)
	}
}
