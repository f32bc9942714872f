// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// dyingLedger is the ledger of a process that is killed at one append of an agent. Nothing is written after it.
type dyingLedger struct {
	ledger.Ledger

	agent string
	// at is the append of the agent; written reports that the process dies after it instead of before it.
	at      int
	written bool

	mu      sync.Mutex
	appends int
	died    chan struct{}
}

func (d *dyingLedger) Append(ctx context.Context, b ledger.Batch) error {
	d.mu.Lock()
	dead := d.appends >= d.at
	if b.Agent == d.agent && !dead {
		d.appends++
	}
	dies := b.Agent == d.agent && !dead && d.appends == d.at
	d.mu.Unlock()
	switch {
	case dies && d.written:
		if err := d.Ledger.Append(ctx, b); err != nil {
			return err
		}
		fallthrough
	case dies:
		close(d.died)
		fallthrough
	case dead:
		return ledger.ErrUnavailable
	}
	return d.Ledger.Append(ctx, b)
}

// A fork that is killed before or after each of its appends begins once, and makes the calls that it would have made.
func TestForkSurvivesKillsAtEveryAppend(t *testing.T) {
	for name, test := range map[string]struct {
		fork        agent.Fork
		instruction string
		want        string
		writes      int
	}{
		"recorded": {agent.Fork{Replies: agent.RepliesRecorded, Results: agent.ResultsRecorded}, "", "Written.", 0},
		"diverges": {agent.Fork{Replies: agent.RepliesLive, Results: agent.ResultsReadOnly}, "Do it differently.", "Diverged", 0},
		"live":     {agent.Fork{Replies: agent.RepliesLive, Results: agent.ResultsLive}, "Do it differently.", "Written.", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, divergingScript)
			w.task("task", nil)
			w.untilEnded("task")
			length := int64(len(w.eventsOf("uid-task")))
			kills := 0
			for at := 1; ; at++ {
				reached := false
				for _, written := range []bool{false, true} {
					fork := fmt.Sprintf("fork-%d-%t", at, written)
					before := w.runsOf("write")
					w.crash()
					dying := &dyingLedger{Ledger: w.ledger, agent: "uid-" + fork, at: at, written: written, died: make(chan struct{})}
					w.start(dying)
					record, first, _ := w.makeFork("task", fork, length, test.fork, func(f *agent.Forked) { f.Instruction = test.instruction })
					w.deliverError(w.current().Start(record, first))
					w.until(fork+" to end, or the kill", func() bool {
						select {
						case <-dying.died:
							reached = true
							return true
						default:
							found, err := w.ledger.Agent(context.Background(), record.UID)
							return err == nil && !found.Live()
						}
					})
					w.restart()
					w.deliverError(w.current().Start(record, first)) // the controllers do not know whether it has begun
					s := w.untilEnded(fork)
					got := string(s.Outcome.Kind)
					if s.Outcome.Succeeded() {
						got = s.Outcome.Result.Text
					}
					runs := w.runsOf("write") - before
					// A write tool that was interrupted is not repeated, and its outcome is unknown to the model.
					if unknown := test.writes > 0 && got == "Unknown."; got != test.want && !unknown || runs > test.writes {
						t.Errorf("%s ends with %v after %d writes, want %s", fork, s.Outcome, runs, test.want)
					}
					begun := 0
					for _, e := range w.eventsOf(record.UID) {
						if f, ok := e.Fact.(agent.Forked); ok && f.Name == fork {
							begun++
						}
					}
					if begun != 1 {
						t.Errorf("%s has begun %d times", fork, begun)
					}
					checkReplay(t, w, record.UID)
				}
				if !reached {
					break
				}
				kills++
			}
			if kills < 2 {
				t.Errorf("only %d appends were interrupted", kills)
			}
		})
	}
}

// The origin of a fork expires while the fork is interrupted. The fork continues from the shared history and the record.
func TestForkContinuesAfterItsOriginExpired(t *testing.T) {
	for _, replies := range []agent.ReplySource{agent.RepliesRecorded, agent.RepliesLive} {
		t.Run(string(replies), func(t *testing.T) {
			w := newWorld(t, writerScript)
			w.task("task", nil)
			want := w.untilEnded("task")
			w.crash()
			dying := &dyingLedger{Ledger: w.ledger, agent: "uid-fork", at: 1, written: true, died: make(chan struct{})}
			w.start(dying)
			w.fork("task", "fork", 1, agent.Fork{Replies: replies, Results: agent.ResultsRecorded}, nil)
			<-dying.died
			w.crash()
			if _, err := ledger.Retain(t.Context(), w.ledger, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			if _, err := w.ledger.Agent(t.Context(), "uid-task"); !errors.Is(err, ledger.ErrNotFound) {
				t.Fatalf("the origin: %v, want ErrNotFound", err)
			}
			w.restart()
			if got := w.untilEnded("fork"); !got.Outcome.Succeeded() || got.Outcome.Result.Text != want.Outcome.Result.Text {
				t.Errorf("the fork ends with %v, want %v", got.Outcome, want.Outcome)
			}
			if got := w.runsOf("write"); got != 1 {
				t.Errorf("the write tool ran %d times, want once", got)
			}
			w.checkRequests()
			w.crash()
			if _, err := ledger.Retain(t.Context(), w.ledger, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			if sizes, err := w.ledger.Bytes(t.Context()); err != nil || len(sizes) > 0 {
				t.Errorf("after the last user, the ledger still has %v (%v)", sizes, err)
			}
			w.requests.Clear()
			w.start(w.ledger)
		})
	}
}

// A fork of a fork has the calls of both as its record.
func TestForkOfForkCallsNothing(t *testing.T) {
	w := newWorld(t, strings.Replace(divergingScript, "name: diverging", "name: twice", 1))
	w.task("task", nil)
	w.untilEnded("task")
	w.fork("task", "middle", 1000, agent.Fork{Replies: agent.RepliesLive, Results: agent.ResultsLive}, func(f *agent.Forked) {
		f.Instruction = "Do it differently."
	})
	want := w.untilEnded("middle")
	requests, writes := len(w.model.Requests()), w.runsOf("write")
	for at := range int64(len(w.eventsOf("uid-middle"))) + 1 {
		name := fmt.Sprintf("fork-%d", at)
		point := w.fork("middle", name, at, agent.Fork{Replies: agent.RepliesRecorded, Results: agent.ResultsRecorded}, nil)
		got := w.untilEnded(name)
		if text := want.Outcome.Result.Text; !got.Outcome.Succeeded() || got.Outcome.Result.Text != text {
			t.Errorf("a fork after %d ends with %v, want %q", point.Sequence, got.Outcome, text)
		}
		checkReplay(t, w, "uid-"+name)
	}
	if calls, runs := len(w.model.Requests())-requests, w.runsOf("write")-writes; calls > 0 || runs > 0 {
		t.Errorf("forks made %d model calls and %d writes", calls, runs)
	}
}

// Sub-agents of a chat are forked at each of their events, in the middle of their tree.
func TestForksOfSubAgentsCallNothing(t *testing.T) {
	w := newWorld(t, "nested-agents")
	w.chat(nil)
	w.sendMessage("m1", "Research the history of the lighthouse of Alexandria.")
	w.untilPosted("finished under Ptolemy II around 280 BC")
	requests, agents, forks := len(w.model.Requests()), w.tree(), 0
	for _, node := range agents {
		if node.UID == "uid-chat" {
			continue
		}
		want := w.untilEnded(node.Name)
		for at := range int64(len(w.eventsOf(node.UID))) + 1 {
			name := fmt.Sprintf("%s-%d", node.Name, at)
			w.fork(node.Name, name, at, agent.Fork{Replies: agent.RepliesRecorded, Results: agent.ResultsRecorded}, nil)
			if got := w.untilEnded(name); !got.Outcome.Succeeded() || got.Outcome.Result.Text != want.Outcome.Result.Text {
				t.Errorf("a fork of %s at %d ends with %v, want %v", node.Name, at, got.Outcome, want.Outcome)
			}
			forks++
		}
	}
	if calls := len(w.model.Requests()) - requests; calls > 0 || forks < 5 {
		t.Errorf("%d forks made %d model calls", forks, calls)
	}
	for name := range w.agents {
		if _, isFork := strings.CutPrefix(name, "chat-1-"); isFork && len(w.childrenOf(name)) > 0 {
			t.Errorf("the fork %s has children", name)
		}
	}
}

// childrenOf returns the agents that an agent has started.
func (w *world) childrenOf(name string) []ledger.Agent {
	w.t.Helper()
	children, err := w.ledger.Agents(w.t.Context(), ledger.AgentFilter{Parent: "uid-" + name}, ledger.Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	return children.Items
}
