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
	Append(t, l, aged("kept", 5, at(10)), below, aged("other", 5, at(10)))
	day := time.Now().Add(24 * time.Hour)
	if err := l.Pin(t.Context(), []string{"kept", "unknown"}, day); err != nil {
		t.Fatal(err)
	}
	if err := l.Pin(t.Context(), []string{"kept"}, time.Now().Add(-time.Hour)); err != nil { // it does not shorten the first one
		t.Fatal(err)
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
	must(ledger.Retain(t.Context(), l, at(500)))(t)
	if _, err := l.Agent(t.Context(), "kept"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("an agent with an expired pin: %v, want ErrNotFound", err)
	}
}
