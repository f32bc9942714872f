// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// fork starts a fork of an agent at an event.
func (w *world) fork(origin, name string, at int64, fork agent.Fork, change func(*agent.Forked)) agent.ForkPoint {
	w.t.Helper()
	record, first, point := w.makeFork(origin, name, at, fork, change)
	w.deliverError(w.current().Start(record, first))
	return point
}

// makeFork returns the record and the first fact of a fork.
func (w *world) makeFork(origin, name string, at int64, fork agent.Fork, change func(*agent.Forked)) (ledger.Agent, agent.Fact, agent.ForkPoint) {
	w.t.Helper()
	forked := agent.Forked{Name: name}
	if change != nil {
		change(&forked)
	}
	events := w.eventsOf("uid-" + origin)
	finder, state := agent.ForkFinder{Sequence: at, Instruction: forked.Instruction != ""}, agent.State{}
	for i := range events {
		state = agent.Replay(state, events[i:i+1])
		finder.Add(int64(i)+1, state)
	}
	point := finder.Point
	fork.Origin, fork.Sequence, fork.End = "uid-"+origin, point.Sequence, int64(len(events))
	forked.Fork = fork
	record := ledger.Agent{
		UID: "uid-" + name, Kind: "SubAgent", Namespace: "ns", Name: name, Root: "uid-" + name, Role: "coder", Depth: 1,
		CreatedAt: w.now(), ShardHash: w.shardHash, Origin: "uid-" + origin, OriginSeq: point.Sequence,
	}
	var first agent.Fact = forked
	if point.Sequence == 0 {
		started := events[0].Fact.(agent.Started)
		started.Config.Name, started.Config.Fork = name, &fork
		first = started
	}
	w.mu.Lock()
	w.agents[name] = record
	w.mu.Unlock()
	return record, first, point
}

func (w *world) eventsOf(uid string) []agent.Event {
	w.t.Helper()
	var events []agent.Event
	var s agent.State
	for {
		rows, err := w.ledger.Events(w.t.Context(), uid, int64(len(events)), ledger.MaxLimit)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(rows) == 0 {
			return events
		}
		for _, row := range rows {
			next, event, err := agent.DecodeAndApply(s, row.Data)
			if err != nil {
				w.t.Fatal(err)
			}
			s, events = next, append(events, event)
		}
	}
}

// runsOf returns how often a tool has run.
func (w *world) runsOf(tool string) (n int) {
	w.tools.mu.Lock()
	defer w.tools.mu.Unlock()
	for key, runs := range w.tools.runs {
		if strings.HasPrefix(key, tool+" ") {
			n += runs
		}
	}
	return n
}

func TestRecordedForkCallsNothing(t *testing.T) {
	w := newWorld(t, writerScript)
	w.task("task", nil)
	want := w.untilEnded("task")
	requests, rows := len(w.model.Requests()), w.eventsOf("uid-task")
	for at := range int64(len(rows)) + 1 {
		name := "fork-" + string(rune('a'+at))
		w.fork("task", name, at, agent.Fork{Replies: agent.RepliesRecorded, Results: agent.ResultsRecorded}, nil)
		if at%2 == 0 {
			w.until("the fork to start", func() bool {
				_, err := w.engine.Lookup(t.Context(), "uid-"+name)
				return err == nil
			})
			w.restart()
		}
		got := w.untilEnded(name)
		if !got.Outcome.Succeeded() || got.Outcome.Result.Text != want.Outcome.Result.Text {
			t.Errorf("a fork at %d ends with %v, want %v", at, got.Outcome, want.Outcome)
		}
		if got.Usage.ModelCalls != 0 {
			t.Errorf("a fork at %d has used %v", at, got.Usage)
		}
		checkReplay(t, w, "uid-"+name)
	}
	if got := len(w.model.Requests()); got != requests {
		t.Errorf("%d model calls were made for forks", got-requests)
	}
	if got := w.runsOf("write"); got != 1 {
		t.Errorf("the write tool ran %d times, want once", got)
	}
	calls, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{}, ledger.Page{})
	if err != nil || len(calls.Items) != requests {
		t.Errorf("the ledger has %d model calls, want the %d of the origin (%v)", len(calls.Items), requests, err)
	}
}

const divergingScript = `
name: diverging
rules:
- match: {role: coder, lastMessage: /outcome of this call is unknown/}
  reply: {toolCalls: [{name: submit_result, arguments: {result: Unknown.}}]}
- match: {role: coder, lastMessage: /differently/}
  reply: {toolCalls: [{name: write, arguments: {path: b.go}}]}
- match: {role: coder, turn: 1}
  reply: {toolCalls: [{name: write, arguments: {path: a.go}}]}
- match: {role: coder, lastMessage: /done/}
  reply: {toolCalls: [{name: submit_result, arguments: {result: Written.}}]}
`

func TestChangedForkDiverges(t *testing.T) {
	w := newWorld(t, divergingScript)
	w.task("task", nil)
	w.untilEnded("task")
	events := int64(len(w.eventsOf("uid-task")))
	point := w.fork("task", "fork", events-1, agent.Fork{Replies: agent.RepliesLive, Results: agent.ResultsRecorded}, func(f *agent.Forked) {
		f.Instruction = "Do it differently."
	})
	if point.Sequence == 0 {
		t.Fatal("the fork begins anew")
	}
	s := w.untilEnded("fork")
	if s.Outcome.Kind != agent.ErrorDiverged || !strings.Contains(s.Outcome.Error, `Actual: write {"path":"b.go"}`) {
		t.Errorf("the fork ends with %v", s.Outcome)
	}
	if got := w.runsOf("write"); got != 1 {
		t.Errorf("the write tool ran %d times, want once", got)
	}
	call, err := w.ledger.ModelCall(t.Context(), "uid-fork/model/m2/1")
	if err != nil || call.Place == 0 || !strings.Contains(string(call.Request), "differently") {
		t.Errorf("the first request of the fork is at place %d of chain %d: %s (%v)", call.Place, call.Chain, call.Request, err)
	}
	if record, err := w.ledger.Agent(t.Context(), "uid-fork"); err != nil || record.Live() || record.ErrorKind != "Diverged" {
		t.Errorf("the record of the fork is %+v (%v)", record, err)
	}
	w.checkRequests()
}

func TestForkAfterTheEndContinues(t *testing.T) {
	w := newWorld(t, divergingScript)
	w.task("task", nil)
	w.untilEnded("task")
	point := w.fork("task", "fork", 1000, agent.Fork{Replies: agent.RepliesLive, Results: agent.ResultsLive}, func(f *agent.Forked) {
		f.Instruction = "Do it differently."
	})
	if !point.State.Phase.Terminal() {
		t.Errorf("the fork begins after %d", point.Sequence)
	}
	if s := w.untilEnded("fork"); !s.Outcome.Succeeded() {
		t.Errorf("the fork ends with %v", s.Outcome)
	}
	if got := w.runsOf("write"); got != 2 {
		t.Errorf("the write tool ran %d times, want twice", got)
	}
	w.checkRequests()
}
