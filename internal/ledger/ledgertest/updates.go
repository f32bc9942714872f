// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"errors"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
)

func testAgentUpdateIsAppendedWithItsEvents(t *testing.T, db Database) {
	l := db.Open(t)
	Append(t, l, First(Agent("a"), 1), First(Agent("b"), 1))
	update := ledger.AgentUpdate{Role: "poet", RoleRevision: "2c3d", Provider: "team/fast", Model: "large"}
	Append(t, l, ledger.Batch{Agent: "a", After: 1, Events: Events("edited", 1), Update: &update})
	got := must(l.Agent(t.Context(), "a"))(t)
	if got.Role != "poet" || got.RoleRevision != "2c3d" || got.Provider != "team/fast" || got.Model != "large" || got.LastSeq != 2 {
		t.Errorf("the record is %+v", got)
	}
	if other := must(l.Agent(t.Context(), "b"))(t); other.Role == "poet" {
		t.Error("another agent was updated")
	}
	stale := ledger.Batch{Agent: "a", After: 1, Events: Events("late", 1), Update: &ledger.AgentUpdate{Role: "usurper"}}
	var conflict *ledger.ConflictError
	if err := l.Append(t.Context(), stale); !errors.As(err, &conflict) {
		t.Errorf("a stale writer: %v", err)
	}
	if err := l.Append(t.Context(), ledger.Batch{Agent: "a", After: 2, Update: &update}); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("an update without events: %v", err)
	}
	if got := must(l.Agent(t.Context(), "a"))(t); got.Role != "poet" {
		t.Errorf("the role is %s", got.Role)
	}
}
