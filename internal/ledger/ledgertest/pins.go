// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"errors"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// testPinnedAgentsDoNotExpire: a pin keeps an agent with those below it until it expires, and can be forked until then.
func testPinnedAgentsDoNotExpire(t *testing.T, db Database) {
	l := db.Open(t)
	below := aged("below", 2, at(10))
	below.Create.Root, below.Create.Parent = "kept", "kept"
	kept := aged("kept", 5, at(10))
	kept.ModelCalls, kept.ModelResults = []ledger.ModelCall{modelCall("kept/m1", 1)}, []ledger.ModelResult{modelDone("kept/m1", ledger.StatusSuccess, 3)}
	kept.ToolCalls, kept.ToolResults = []ledger.ToolCall{toolCall("kept/t1", "c1", 1)}, []ledger.ToolResult{output("kept/t1", 10, 2)}
	Append(t, l, kept, below, aged("other", 5, at(10)))
	outputs := func() error {
		must(ledger.RetainCalls(t.Context(), l, at(100)))(t)
		_, err := l.ToolOutput(t.Context(), "kept", "c1", 0, 10)
		return err
	}
	day := time.Now().Add(24 * time.Hour)
	if err := l.Pin(t.Context(), []string{"kept", "unknown"}, day); err != nil {
		t.Fatal(err)
	}
	if err := l.Pin(t.Context(), []string{"kept"}, time.Now().Add(-time.Hour)); err != nil { // it does not shorten the first one
		t.Fatal(err)
	}
	if err := outputs(); err != nil || !must(l.ModelCall(t.Context(), "kept/m1"))(t).PrunedAt.IsZero() {
		t.Errorf("the bodies of a pinned agent's calls are pruned: %v", err)
	}
	must(ledger.Retain(t.Context(), l, at(500)))(t)
	for _, uid := range []string{"kept", "below"} {
		must(l.Agent(t.Context(), uid))(t)
	}
	if _, err := l.Agent(t.Context(), "other"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("an agent without a pin: %v, want ErrNotFound", err)
	}
	Append(t, l, forkOf("kept", "fork", 3, 1))

	if _, err := db.Raw.ExecContext(t.Context(), "UPDATE agents SET pinned_until = 1"); err != nil {
		t.Fatal(err)
	}
	if err := outputs(); !errors.Is(err, ledger.ErrPruned) {
		t.Errorf("the output of a call after the pin: %v, want ErrPruned", err)
	}
	must(ledger.Retain(t.Context(), l, at(500)))(t)
	if _, err := l.Agent(t.Context(), "kept"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("an agent with an expired pin: %v, want ErrNotFound", err)
	}
}
