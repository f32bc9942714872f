// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// A fact that was acknowledged survives an immediate crash.
func TestRecordedFactIsInLedger(t *testing.T) {
	w := newWorld(t, "load")
	w.chat(nil)
	if err := w.engine.Record(t.Context(), "uid-chat", agent.MessageArrived{Message: "m1", Text: "Load"}); err != nil {
		t.Fatal(err)
	}
	events, err := w.ledger.Events(t.Context(), "uid-chat", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	arrived := 0
	for _, e := range events {
		if e.Type == agent.FactType(agent.MessageArrived{}) {
			arrived++
		}
	}
	if arrived != 1 {
		t.Errorf("the ledger contains the message %d times when Record returns", arrived)
	}
	if err := w.engine.Record(t.Context(), "uid-chat", agent.MessageArrived{Message: "m1", Text: "Load"}); err != nil {
		t.Errorf("a fact that is already known: %v", err)
	}
}

func TestAnUnknownAgentRecordsNothing(t *testing.T) {
	w := newWorld(t, "load")
	if err := w.engine.Record(t.Context(), "uid-nobody", agent.Answered{Call: "c1", Text: "Yes"}); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

// While the ledger is down, Record does not return.
func TestRecordWaitsForLedger(t *testing.T) {
	w := newWorld(t, "load")
	w.chat(nil)
	w.until("the chat to begin", func() bool {
		_, err := w.engine.View(context.Background(), "uid-chat")
		return err == nil
	})
	w.crash()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var refused atomic.Int32
	e := w.start(refusingLedger{w.ledger, func() {
		if refused.Add(1) == 3 {
			cancel()
		}
	}})
	err := e.Record(ctx, "uid-chat", agent.MessageArrived{Message: "m1", Text: "Load"})
	if !errors.Is(err, context.Canceled) || refused.Load() < 3 {
		t.Errorf("Record returned %v after the ledger refused %d appends", err, refused.Load())
	}
	w.crash() // nothing can be drained
}

// refusingLedger is a ledger that refuses all appends, and reports each.
type refusingLedger struct {
	Ledger

	refused func()
}

func (l refusingLedger) Append(context.Context, ledger.Batch) error {
	l.refused()
	return ledger.ErrUnavailable
}
