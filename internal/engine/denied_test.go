// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

func (w *world) toolCalls(uid, tool string) []ledger.ToolCall {
	w.t.Helper()
	list, err := w.ledger.ToolCalls(w.t.Context(), uid, ledger.Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	var calls []ledger.ToolCall
	for _, c := range list.Items {
		if c.Tool == tool {
			calls = append(calls, c)
		}
	}
	return calls
}

func TestLedgerRecordsWhoDecided(t *testing.T) {
	for name, tc := range map[string]struct {
		approve bool
		want    ledger.Decision
		status  ledger.Status
	}{
		"approved": {true, ledger.DecisionApprove, ledger.StatusSuccess},
		"denied":   {false, ledger.DecisionDeny, ledger.StatusDenied},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "role-delegation")
			w.approve = func(e agent.AskPerson) *agent.Decided {
				return &agent.Decided{Call: e.Call, Approve: tc.approve, User: "alice", Digest: e.Digest()}
			}
			w.chat(nil)
			w.sendMessage("m1", "Add authentication to the API.")
			w.until("the decision to be in the ledger", func() bool {
				calls := w.toolCalls("uid-chat-1", "write")
				return len(calls) > 0 && calls[0].Result != nil
			})
			call := w.toolCalls("uid-chat-1", "write")[0]
			if call.Decision != tc.want || call.DecidedBy != "alice" || call.Result.Status != tc.status || call.Arguments == "" {
				t.Errorf("the ledger has %+v with %+v", call, call.Result)
			}
			if runs, _ := w.tools.count("write"); !tc.approve && runs > 0 {
				t.Error("a denied call ran")
			}
		})
	}
}
