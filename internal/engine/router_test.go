// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/shard"
	"github.com/nestor-dev/nestor/internal/tool"
)

// replica is a process with a router.
type replica struct {
	*Router

	w *world
}

// replica starts a router that owns no shard yet.
func (w *world) replica(name string, shards int) replica {
	w.t.Helper()
	w.noControllers.Store(true)
	options := w.options(w.ledger)
	options.AwaitRecovery, options.Name = true, name
	r := replica{NewRouter(options, shards), w}
	w.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := r.Close(ctx); err != nil {
			w.t.Error(err)
		}
	})
	return r
}

// own acquires a shard, and keeps it until ctx ends, or another engine has taken it over.
func (r replica) own(ctx context.Context, index int) <-chan error {
	r.w.t.Helper()
	e := r.Engine(index)
	if err := e.Acquire(ctx, nil); err != nil {
		r.w.t.Fatal(err)
	}
	if _, err := e.Recover(ctx); err != nil {
		r.w.t.Fatal(err)
	}
	owned := make(chan error, 1)
	go func() { owned <- e.OwnShard(ctx) }()
	return owned
}

// owned counts the shards that the process owns.
func (r replica) owned() int {
	owned := 0
	for _, e := range r.engines {
		if e.checkOwned() == nil {
			owned++
		}
	}
	return owned
}

// begin starts a task in a shard.
func (r replica) begin(name string, index int) error {
	from, _ := shard.Count(r.Shards()).Range(index)
	c := config(agent.SubAgent, name, "coder", 1)
	c.Role.Approval, c.Task.Instruction = agent.ApproveNever, "Write it."
	return r.Start(ledger.Agent{UID: "uid-" + name, Kind: "SubAgent", Namespace: "ns", Name: name, Root: "uid-" + name, Role: "coder", Depth: 1,
		ShardHash: from, CreatedAt: time.Now()}, agent.Started{Config: c})
}

func (r replica) mustBegin(name string, index int) {
	r.w.t.Helper()
	if err := r.begin(name, index); err != nil {
		r.w.t.Fatal(err)
	}
}

func (r replica) untilEnded(name string) agent.State {
	r.w.t.Helper()
	var s agent.State
	r.w.until(name+" to end", func() bool {
		var err error
		s, err = r.View(context.Background(), "uid-"+name)
		return err == nil && s.Phase.Terminal()
	})
	return s
}

// TestReplicasHaveTheirOwnShards checks that a router acts only on agents of shards that its process owns.
func TestReplicasHaveTheirOwnShards(t *testing.T) {
	w := newWorld(t, writerScript)
	a, b := w.replica("a", 4), w.replica("b", 4)
	for i := range 2 {
		a.own(t.Context(), i)
		b.own(t.Context(), i+2)
	}
	finish := make(chan struct{})
	w.tools.beforeWrite = func(context.Context, tool.Invocation) { <-finish }
	for i := range 4 {
		mine, theirs := a, b
		if i >= 2 {
			mine, theirs = b, a
		}
		name := fmt.Sprint("task-", i)
		if err := theirs.begin(name, i); !errors.Is(err, ErrNotOwned) {
			t.Errorf("a start in a shard of another process: %v", err)
		}
		mine.mustBegin(name, i)
		w.until("the agent to be recorded", func() bool {
			_, err := w.ledger.Agent(context.Background(), "uid-"+name)
			return err == nil
		})
		uid := "uid-" + name
		_, viewed := theirs.View(t.Context(), uid)
		_, ended := theirs.EndIfDeleted(t.Context(), uid)
		for what, err := range map[string]error{"Deliver": theirs.Deliver(uid, agent.Woke{}), "End": theirs.End(t.Context(), uid), "View": viewed, "EndIfDeleted": ended} {
			if !errors.Is(err, ErrNotOwned) {
				t.Errorf("%s of an agent of another process: %v", what, err)
			}
		}
		if _, ok := theirs.Enter(0 + i*shard.Hashes/4); ok || theirs.Owns(uid) || !mine.Owns(uid) {
			t.Errorf("both processes act on %s", name)
		}
		named, err := theirs.LiveNamed(t.Context(), "SubAgent", "ns", name)
		if err != nil || len(named) > 0 {
			t.Errorf("another process finds %v (%v)", named, err)
		}
	}
	close(finish)
	for i := range 4 {
		mine, theirs := a, b
		if i >= 2 {
			mine, theirs = b, a
		}
		mine.untilEnded(fmt.Sprint("task-", i))
		if s, err := theirs.View(t.Context(), fmt.Sprint("uid-task-", i)); err != nil || !s.Phase.Terminal() {
			t.Errorf("an agent that has ended cannot be read by another process: %v", err)
		}
	}
	w.wantWrites(4)
}

// TestHandOverOfOneShard hands over a shard while calls of it and of another one are in flight.
func TestHandOverOfOneShard(t *testing.T) {
	w := newWorld(t, writerScript)
	a, b := w.replica("a", 2), w.replica("b", 2)
	ctx, release := context.WithCancel(t.Context())
	owned := a.own(ctx, 0)
	stays := a.own(t.Context(), 1)
	running, finish := make(chan string, 2), map[string]chan struct{}{"uid-moves": make(chan struct{}), "uid-stays": make(chan struct{})}
	w.tools.beforeWrite = func(_ context.Context, i tool.Invocation) {
		running <- i.Agent
		<-finish[i.Agent]
	}
	a.mustBegin("moves", 0)
	a.mustBegin("stays", 1)
	<-running
	<-running
	leave, ok := a.Enter(0)
	if !ok {
		t.Fatal("a reconcile of an own tree is refused")
	}

	release()
	if err := <-owned; err != nil {
		t.Fatal(err)
	}
	handed := make(chan struct{})
	go func() {
		_ = a.Engine(0).HandOver(t.Context())
		close(handed)
	}()
	close(finish["uid-moves"])
	w.until("the gate to close", func() bool { return a.owned() == 1 })
	if _, ok := a.Enter(0); ok {
		t.Error("a reconcile began during the hand-over")
	}
	select {
	case <-handed:
		t.Fatal("the shard was handed over during a reconcile")
	default:
	}
	leave()
	<-handed
	b.own(t.Context(), 0)
	if got := b.untilEnded("moves").Outcome.Result.Text; got != "Written." {
		t.Errorf("the result is %q: the call in flight was lost", got)
	}
	close(finish["uid-stays"])
	if got := a.untilEnded("stays").Outcome.Result.Text; got != "Written." {
		t.Errorf("the result of the shard that stayed is %q", got)
	}
	select {
	case err := <-stays:
		t.Errorf("the other shard was given up: %v", err)
	default:
	}
	w.wantWrites(2)
}

// TestExpiredOwnerIsFenced takes over at once when the row of the owner has expired.
func TestExpiredOwnerIsFenced(t *testing.T) {
	w := newWorld(t, writerScript)
	a, b := w.replica("a", 2), w.replica("b", 2)
	running := make(chan struct{}, 2)
	w.tools.beforeWrite = func(ctx context.Context, _ tool.Invocation) {
		running <- struct{}{}
		<-ctx.Done()
	}
	fenced := a.own(t.Context(), 0)
	a.mustBegin("task", 0)
	<-running
	w.tools.beforeWrite = nil
	b.own(t.Context(), 0)
	wantSuperseded(t, fenced)
	if got := b.untilEnded("task").Outcome.Result.Text; got != "The outcome is unknown." {
		t.Errorf("the result is %q", got)
	}
	w.wantWrites(1)
	if _, ok := a.Enter(0); ok {
		t.Error("the superseded process still acts on the shard")
	}
}

// TestOwnersAreReadTogether checks that many engines need few queries to detect that they were superseded.
func TestOwnersAreReadTogether(t *testing.T) {
	w := newWorld(t, writerScript)
	counting := &countingOwners{Ledger: w.ledger}
	options := w.options(counting)
	options.AwaitRecovery = true
	r := replica{NewRouter(options, 16), w}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	for i := range 16 {
		r.own(t.Context(), i)
	}
	begun := time.Now() // before the first count, and the end is after the last: a pause between them is no reason to fail
	before := counting.reads.Load()
	w.until("some reads", func() bool { return counting.reads.Load() >= before+4 })
	reads, took := counting.reads.Load()-before, time.Since(begun)
	if limit := int64(took/ownerMaxAge) + 4; reads > limit {
		t.Errorf("%d reads for 16 shards in %s", reads, took)
	}
}

// countingOwners counts the reads of owners.
type countingOwners struct {
	ledger.Ledger

	reads atomic.Int64
}

func (l *countingOwners) Owners(ctx context.Context) (map[int]ledger.ShardOwner, error) {
	l.reads.Add(1)
	return l.Ledger.Owners(ctx)
}
