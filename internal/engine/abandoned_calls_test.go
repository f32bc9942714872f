// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// silentScript is a model that never replies.
const silentScript = `
name: silent
rules:
- {match: {}, reply: {fault: {kind: hang}}}
`

// appendCancelled records a cancellation as an engine does that dies before it records the results of the stopped calls.
func (w *world) appendCancelled(uid string, finish *ledger.Finish) {
	w.t.Helper()
	cancelled := agent.Cancelled{User: "alice"}
	data, err := json.Marshal(agent.Event{At: agent.Time(time.Now().UnixMilli()), Fact: cancelled})
	if err != nil {
		w.t.Fatal(err)
	}
	err = w.ledger.Append(w.t.Context(), ledger.Batch{Agent: uid, After: w.record(uid).LastSeq, Finish: finish,
		Events: []ledger.Event{{Type: agent.FactType(cancelled), At: time.Now(), Data: data}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestCancelledAgentClosesCalls(t *testing.T) {
	for name, test := range map[string]struct {
		start  func(*world)
		uid    string
		finish *ledger.Finish
	}{
		"a turn of a chat": {func(w *world) { w.chat(nil); w.sendMessage("m1", "Hang") }, "uid-chat", nil},
		"a task that has ended": {func(w *world) {
			c := config(agent.SubAgent, "task", "coder", 1)
			c.Task.Instruction = "Hang"
			w.begin(ledger.Agent{UID: "uid-task", Kind: "SubAgent", Namespace: "ns", Name: "task", Root: "uid-task", Role: "coder", Depth: 1}, c)
		}, "uid-task", &ledger.Finish{Status: ledger.StatusCancelled, ErrorKind: string(agent.ErrorCancelled), At: time.Now()}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, silentScript)
			open := func() int {
				calls, err := w.ledger.OpenCalls(t.Context(), test.uid)
				if err != nil {
					return -1
				}
				return len(calls.Models)
			}
			test.start(w)
			w.until("a model call in flight", func() bool { return open() == 1 })
			w.crash()
			w.appendCancelled(test.uid, test.finish)
			if _, err := w.start(w.ledger).Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.until("the model call to be closed", func() bool { return open() == 0 })
			calls, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{Agent: test.uid, Status: ledger.StatusCancelled}, ledger.Page{})
			if err != nil || len(calls.Items) != 1 {
				t.Errorf("%d model calls are cancelled (%v)", len(calls.Items), err)
			}
		})
	}
}
