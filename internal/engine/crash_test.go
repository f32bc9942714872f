// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// writerScript is the script of an agent that calls a write tool and reports the outcome.
const writerScript = `
name: writer
rules:
- match: {role: coder, turn: 1}
  reply: {toolCalls: [{name: write, arguments: {path: a.go}}]}
- match: {role: coder, lastMessage: /unknown/}
  reply: {toolCalls: [{name: submit_result, arguments: {result: The outcome is unknown.}}]}
- match: {role: coder, lastMessage: /done/}
  reply: {toolCalls: [{name: submit_result, arguments: {result: Written.}}]}
`

// task starts a standalone task whose write tools need no approval.
func (w *world) task(name string, change func(*agent.Config)) {
	c := config(agent.SubAgent, name, "coder", 1)
	c.Role.Approval = agent.ApproveNever
	c.Task.Instruction = "Write it."
	if change != nil {
		change(&c)
	}
	w.begin(ledger.Agent{UID: "uid-" + name, Kind: "SubAgent", Namespace: "ns", Name: name, Root: "uid-" + name, Role: "coder", Depth: 1}, c)
}

func (w *world) untilEnded(name string) agent.State {
	w.t.Helper()
	var s agent.State
	w.until(name+" to end", func() bool {
		var err error
		s, err = w.engine.View(context.Background(), "uid-"+name)
		return err == nil && s.Phase.Terminal()
	})
	return s
}

func TestInterruptedWriteToolIsNotRepeated(t *testing.T) {
	w := newWorld(t, writerScript)
	running := make(chan struct{}, 1)
	w.tools.beforeWrite = func(ctx context.Context, _ tool.Invocation) {
		running <- struct{}{}
		<-ctx.Done()
	}
	w.task("task", nil)
	<-running
	w.crash()

	e := w.start(w.ledger)
	if n, err := e.Recover(t.Context()); err != nil || n != 1 {
		t.Fatalf("recovered %d agents (%v), want 1", n, err)
	}
	s := w.untilEnded("task")
	if got := s.Outcome.Result.Text; got != "The outcome is unknown." {
		t.Errorf("the agent's result is %q, want the outcome to be unknown", got)
	}
	if runs, _ := w.tools.count("write"); runs != 1 {
		t.Errorf("the write tool ran %d times", runs)
	}
}

func TestInterruptedReadOnlyToolIsRepeated(t *testing.T) {
	w := newWorld(t, strings.NewReplacer("name: write,", "name: read,").Replace(writerScript))
	running := make(chan struct{}, 1)
	w.tools.hangOnce(running)
	w.task("task", nil)
	<-running
	w.restart()
	if got := w.untilEnded("task").Outcome.Result.Text; got != "Written." {
		t.Errorf("the agent's result is %q", got)
	}
}

// A chat with twenty agents survives any number of kills: every agent ends, and no model call with a recorded reply is
// repeated.
func TestManyKillsLoseNothing(t *testing.T) {
	w := newWorld(t, "load")
	w.chat(nil)
	w.sendMessage("m1", "Load 20")
	for kill := range 5 {
		w.until("some progress", func() bool { return len(w.model.Requests()) > 5*(kill+1) })
		w.restart()
		w.sendMessage("m1", "Load 20") // the sender does not learn whether the message arrived
	}
	w.untilPosted("All steps are done.")
	nodes := w.tree()
	if len(nodes) != 21 {
		t.Errorf("the tree has %d agents, want 21", len(nodes))
	}
	for _, node := range nodes {
		if node.UID != "uid-chat" && node.Status != ledger.StatusSuccess {
			t.Errorf("%s is %s", node.Name, node.Status)
		}
		checkReplay(t, w, node.UID)
	}
	checkPaidOnce(t, w)
}

// checkReplay checks that replaying the log of an agent gives the engine's state.
func checkReplay(t *testing.T, w *world, uid string) {
	t.Helper()
	events, err := w.ledger.Events(t.Context(), uid, 0, ledger.MaxLimit)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Fatalf("%s: event %d has the sequence %d", uid, i+1, e.Seq)
		}
	}
	replayed, _, err := rebuild(ledger.History{Events: events})
	if err != nil {
		t.Fatal(err)
	}
	held, err := w.current().View(t.Context(), uid)
	if err != nil || replayed.String() != held.String() {
		t.Errorf("the log replays to %v, the engine has %v (%v)", replayed, held, err)
	}
}

// checkPaidOnce checks that no request was repeated after its reply was recorded.
func checkPaidOnce(t *testing.T, w *world) {
	t.Helper()
	answered, page := map[string]bool{}, ledger.Page{Limit: ledger.MaxLimit}
	calls, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{}, page)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range calls.Items {
		if call.Result == nil {
			t.Errorf("model call %s has no result", call.Key)
			continue
		}
		if answered[call.Key] {
			t.Errorf("model call %s is in the ledger twice", call.Key)
		}
		answered[call.Key] = call.Result.Status == ledger.StatusSuccess
	}
}

func TestTwoEnginesNeverBothAct(t *testing.T) {
	w := newWorld(t, writerScript)
	first := w.current()
	second := w.start(w.ledger)
	t.Cleanup(func() {
		if err := first.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for i := range 20 {
		name := fmt.Sprintf("task-%d", i)
		c := config(agent.SubAgent, name, "coder", 1)
		c.Role.Approval = agent.ApproveNever
		c.Task.Instruction = "Write it."
		record := ledger.Agent{UID: "uid-" + name, Kind: "SubAgent", Namespace: "ns", Name: name, Root: "uid-" + name, Role: "coder", CreatedAt: first.options.Now()}
		for _, e := range []*Engine{first, second} {
			if err := e.Start(record, agent.Started{Config: c}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 20 {
		w.untilLedger(fmt.Sprintf("uid-task-%d", i), ledger.StatusSuccess)
	}
	if runs, doubled := w.tools.count("write"); runs != 20 || len(doubled) > 0 {
		t.Errorf("20 agents wrote %d times; repeated calls: %v", runs, doubled)
	}
}

func (w *world) untilLedger(uid string, status ledger.Status) {
	w.t.Helper()
	w.until(uid+" to be "+string(status), func() bool {
		a, err := w.ledger.Agent(context.Background(), uid)
		return err == nil && a.Status == status
	})
}

// flakyLedger fails appends while it is down.
type flakyLedger struct {
	ledger.Ledger

	down atomic.Bool
}

func (l *flakyLedger) Append(ctx context.Context, b ledger.Batch) error {
	if l.down.Load() {
		return &ledger.Error{Ledger: "test", Op: "append", Reason: ledger.ReasonUnavailable, Err: errors.New("no route to host")}
	}
	return l.Ledger.Append(ctx, b)
}

func (l *flakyLedger) ReadOwner(ctx context.Context, shard int) (ledger.ShardOwner, error) {
	if l.down.Load() {
		return ledger.ShardOwner{}, &ledger.Error{Ledger: "test", Op: "look", Reason: ledger.ReasonUnavailable, Err: errors.New("no route to host")}
	}
	return l.Ledger.ReadOwner(ctx, shard)
}

func TestUnavailableLedgerLosesNothing(t *testing.T) {
	w := newWorld(t, "nested-agents")
	w.stop()
	flaky := &flakyLedger{Ledger: w.ledger}
	flaky.down.Store(true)
	w.start(flaky)
	w.chat(nil)
	w.sendMessage("m1", "Research the history of the lighthouse of Alexandria.")
	w.until("the error to be reported", func() bool {
		return len(w.errors) > 0 && errors.Is(w.errors[0], ledger.ErrUnavailable)
	})
	if n := len(w.model.Requests()); n != 0 {
		t.Errorf("%d model calls were made without a recorded intent", n)
	}
	flaky.down.Store(false)
	w.untilPosted("finished under Ptolemy II around 280 BC")
}
