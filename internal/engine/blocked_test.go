// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/test/patience"
)

// fullLedger refuses appends while it is full.
type fullLedger struct {
	ledger.Ledger
	full atomic.Bool
}

var errFull = &ledger.Error{Op: "append", Reason: ledger.ReasonFull, Err: errors.New("no space left on device")}

func (l *fullLedger) Append(ctx context.Context, batch ledger.Batch) error {
	if l.full.Load() {
		return errFull
	}
	return l.Ledger.Append(ctx, batch)
}

func TestAgentReportsLedgerBlock(t *testing.T) {
	store := ledgertest.OpenSQLite(t)
	broken := &fullLedger{Ledger: store}
	reported := make(chan ledger.Agent, 100)
	e := New(Options{Ledger: broken, LedgerRetryDelay: time.Millisecond, BlockedChanged: func(a ledger.Agent) { reported <- a }})
	t.Cleanup(func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	start := func(name string) {
		t.Helper()
		record := ledger.Agent{UID: name, Kind: "AgentChat", Namespace: "a", Name: name, Root: name, Chat: name, CreatedAt: time.Now()}
		if err := e.Start(record, agent.Started{Config: agent.Config{Kind: agent.Orchestrator, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(name string, reason ledger.Reason) {
		t.Helper()
		select {
		case a := <-reported:
			if a.Name != name || a.Namespace != "a" || a.Kind != "AgentChat" {
				t.Fatalf("BlockedChanged was called for %+v, want %s", a, name)
			}
		case <-time.After(patience.Limit()):
			t.Fatal("BlockedChanged was not called")
		}
		if err := e.Blocked(name); ledgerReason(err) != reason {
			t.Fatalf("%s is blocked by %v, want %q", name, err, reason)
		}
	}

	broken.full.Store(true)
	start("new") // an agent without a record in the ledger
	expect("new", ledger.ReasonFull)
	broken.full.Store(false)
	expect("new", "")

	broken.full.Store(true)
	if err := e.Deliver("new", agent.Cancelled{Message: "stop"}); err != nil {
		t.Fatal(err)
	}
	expect("new", ledger.ReasonFull)
	broken.full.Store(false)
	expect("new", "")
	if len(reported) != 0 {
		t.Errorf("Blocked was called %d more times, want once per change", len(reported))
	}
	if err := e.Blocked("nobody"); err != nil {
		t.Errorf("an unknown agent is blocked by %v", err)
	}
}
