// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// longConversation is the number of iterations of the run that forks are measured with.
const longConversation = 1000

// converse returns a world with an agent that has ended after many iterations. The engine makes its last model call; the events before it are
// written to the ledger, because the scripted model would read each request of a growing conversation.
func converse(t testing.TB) *world {
	t.Helper()
	w := newWorld(t, pagingScript)
	w.crash()
	c := config(agent.SubAgent, "task", "coder", 1)
	c.Role.Approval = agent.ApproveNever
	c.Task.Instruction = "Read it."
	unlimited(&c)
	record := ledger.Agent{UID: "uid-task", Kind: "SubAgent", Namespace: "ns", Name: "task", Root: "uid-task", Role: "coder", Depth: 1, CreatedAt: w.now()}
	var s agent.State
	batch := ledger.Batch{Agent: record.UID, Create: &record}
	step := func(fact agent.Fact) {
		event := agent.Event{At: agent.Time(w.now().UnixMilli()), Fact: fact}
		data, err := agent.EncodeEvent(event)
		if err != nil {
			t.Fatal(err)
		}
		s, _ = agent.Step(s, event)
		batch.Events = append(batch.Events, ledger.Event{Type: agent.FactType(fact), At: w.now(), Data: data})
	}
	step(agent.Started{Config: c})
	for i := range longConversation {
		text := strings.Repeat(fmt.Sprintf("line %d of a long story\n", i), 8)
		if i == longConversation-1 {
			text = "This is the end."
		}
		id := fmt.Sprintf("call-%d", i)
		step(agent.ModelReplied{Call: s.ModelCall.ID, Calls: []agent.ToolCall{{ID: id, Tool: "read", Arguments: fmt.Sprintf(`{"path":"part-%d"}`, i)}}})
		step(agent.ToolFinished{Call: id, Outcome: agent.ToolSucceeded, Text: text})
	}
	if err := w.ledger.Append(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.agents["task"] = record
	w.mu.Unlock()
	if _, err := w.start(w.ledger).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := w.untilEnded("task"); !s.Outcome.Succeeded() || s.Iterations < longConversation {
		t.Fatalf("the run ends with %v after %d iterations", s.Outcome, s.Iterations)
	}
	return w
}

// startOnce starts a fork with an engine that is killed after the first append, and returns the time that this takes.
func (w *world) startOnce(name string, change func(*agent.Forked)) time.Duration {
	w.t.Helper()
	w.crash()
	dying := &dyingLedger{Ledger: w.ledger, agent: "uid-" + name, at: 1, written: true, died: make(chan struct{})}
	w.start(dying)
	record, first, _ := w.makeFork("task", name, math.MaxInt64, agent.Fork{Replies: agent.RepliesLive, Results: agent.ResultsRecorded}, change)
	began := time.Now()
	w.deliverError(w.current().Start(record, first))
	<-dying.died
	return time.Since(began)
}

// DESIGN section 24: a fork of a conversation with 1,000 turns adds less than 5 KB.
func TestForkOfLongConversationIsSmall(t *testing.T) {
	const most = 5000
	w := converse(t)
	for name, change := range map[string]func(*agent.Forked){
		"unchanged":      nil,
		"an-instruction": func(f *agent.Forked) { f.Instruction = "And now differently." },
		"another-model": func(f *agent.Forked) {
			c := w.eventsOf("uid-task")[0].Fact.(agent.Started).Config
			c.Provider, c.Model, c.Limits.MaxOutputTokens = "other", "another", 2000
			f.Config = &c
		},
	} {
		before := w.bytes()
		w.startOnce(name, change)
		if added := w.bytes() - before; added <= 0 || added > most {
			t.Errorf("the fork %s adds %d bytes, want at most %d", name, added, most)
		}
		call, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{Agent: "uid-" + name}, ledger.Page{})
		if err != nil || len(call.Items) != 1 {
			t.Errorf("the fork %s has planned %d model calls, want 1 (%v)", name, len(call.Items), err)
		}
	}
}

// BenchmarkForkOfLongConversation measures from the start of a fork until its first append is durable, which plans its first model call.
// reads/fork is the time of a start divided by the time in which the history of the origin is read once; bytes/fork are those that a fork
// adds to the ledger.
func BenchmarkForkOfLongConversation(b *testing.B) {
	w := converse(b)
	before, forks := w.bytes(), 0
	var starts, reads time.Duration
	for b.Loop() {
		began := time.Now()
		w.eventsOf("uid-task")
		reads += time.Since(began)
		starts += w.startOnce(fmt.Sprintf("fork-%d", forks), func(f *agent.Forked) { f.Instruction = "And now differently." })
		forks++
	}
	b.ReportMetric(float64(w.bytes()-before)/float64(forks), "bytes/fork")
	b.ReportMetric(float64(starts)/float64(reads), "reads/fork")
	b.ReportMetric(float64(starts.Microseconds())/1000/float64(forks), "ms/start")
	b.ReportMetric(0, "ns/op") // it includes what the benchmark prepares
}
