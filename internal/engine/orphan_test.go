// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// An object that goes while no engine is at work leaves an agent behind, of which the next engine knows only the name.
func TestAnAgentWhoseObjectWentUnseenIsEnded(t *testing.T) {
	w := newWorld(t, "load")
	w.chat(nil)
	w.say("m1", "Load")
	w.untilPosted("Loaded.")
	w.restart()
	if err := w.engine.EndNamed(t.Context(), "AgentChat", "ns", "another"); err != nil {
		t.Fatal(err)
	}
	if !w.record("uid-chat").Live() {
		t.Fatal("the agent of another object was ended")
	}
	if err := w.engine.EndNamed(t.Context(), "AgentChat", "ns", "chat"); err != nil {
		t.Fatal(err)
	}
	w.until("the agent to end", func() bool { return w.record("uid-chat").Status == ledger.StatusCancelled })
}

// An orchestrator that has nothing to do has nothing to cancel; deleting its chat ends it all the same.
func TestAnIdleChatThatIsDeletedIsEnded(t *testing.T) {
	w := newWorld(t, "load")
	w.chat(nil)
	w.say("m1", "Load")
	w.untilPosted("Loaded.")
	w.until("the chat to have nothing to do", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.Phase == agent.PhaseIdle && len(s.Outbox) == 0
	})
	if err := w.engine.End("uid-chat"); err != nil {
		t.Fatal(err)
	}
	w.until("the agent to end", func() bool { return w.record("uid-chat").Status == ledger.StatusCancelled })
}

func (w *world) record(uid string) ledger.Agent {
	w.t.Helper()
	record, err := w.ledger.Agent(w.t.Context(), uid)
	if err != nil {
		w.t.Fatal(err)
	}
	return record
}
