// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

type sizedLedger struct {
	ledger.Ledger
	bytes *atomic.Int64
}

func (s sizedLedger) Bytes(context.Context) ([]ledger.NamespaceBytes, error) {
	return []ledger.NamespaceBytes{{Namespace: "ns", UID: "uid-ns", Bytes: s.bytes.Load()}, {Namespace: "other", Bytes: 1 << 40}}, nil
}

func TestNamespaceAtLedgerQuotaWaits(t *testing.T) {
	w := newWorld(t, writerScript)
	w.crash()
	w.ledgerQuota = 1 << 20
	bytes := &atomic.Int64{}
	bytes.Store(1 << 20)
	e := w.start(sizedLedger{w.ledger, bytes})
	c := config(agent.SubAgent, "task", "coder", 1)
	c.Task.Instruction = "Write it."
	c.Role.Approval = agent.ApproveNever
	w.begin(ledger.Agent{UID: "uid-task", Kind: "SubAgent", Namespace: "ns", NamespaceUID: "uid-ns", Name: "task", Root: "uid-task", Role: "coder", Depth: 1}, c)
	state := func() agent.State {
		s, err := e.View(t.Context(), "uid-task")
		if err != nil {
			return agent.State{}
		}
		return s
	}
	w.until("the agent to wait", func() bool { wait := state().QuotaWait(); return wait != nil && wait.Reason == "LedgerQuota" })
	if n := len(w.model.Requests()); n > 0 {
		t.Errorf("%d model calls were made", n)
	}
	if e.LedgerFull("ns", "uid-ns") == nil || e.LedgerFull("ns", "uid-again") != nil || e.Stats().LedgerFull != 2 {
		t.Errorf("%d namespaces are full: %v; recreated namespace: %v", e.Stats().LedgerFull, e.LedgerFull("ns", "uid-ns"), e.LedgerFull("ns", "uid-again"))
	}
	bytes.Store(1000) // retention has freed space
	if s := w.untilEnded("task"); !s.Outcome.Succeeded() {
		t.Errorf("the agent ended with %v", s.Outcome)
	}
}

func TestCancelAtLedgerQuota(t *testing.T) {
	w := newWorld(t, writerScript)
	w.crash()
	w.ledgerQuota = 1
	bytes := &atomic.Int64{}
	bytes.Store(1 << 20)
	e := w.start(sizedLedger{w.ledger, bytes})
	c := config(agent.SubAgent, "task", "coder", 1)
	c.Task.Instruction = "Write it."
	w.begin(ledger.Agent{UID: "uid-task", Kind: "SubAgent", Namespace: "ns", NamespaceUID: "uid-ns", Name: "task", Root: "uid-task", Role: "coder", Depth: 1}, c)
	w.until("the agent to wait", func() bool {
		s, err := e.View(t.Context(), "uid-task")
		return err == nil && s.QuotaWait() != nil
	})
	w.deliver("uid-task", agent.Cancelled{User: "alice"})
	if s := w.untilEnded("task"); s.Outcome.Kind != agent.ErrorCancelled {
		t.Errorf("the agent ended with %v", s.Outcome)
	}
	w.until("its call to be closed", func() bool {
		open, err := w.ledger.OpenCalls(t.Context(), "uid-task")
		return err == nil && len(open.Models) == 0
	})
}
