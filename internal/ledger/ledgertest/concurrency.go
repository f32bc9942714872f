// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// testRacingWritersNeverShareASeq lets two processes with several writers each race for the same agents. Every acknowledged event
// must be in the history under its writer's name, without gaps.
func testRacingWritersNeverShareASeq(t *testing.T, db Database) {
	const agents, writers, rounds = 5, 6, 15
	ledgers := []ledger.Ledger{db.Open(t), db.Open(t)}
	uid := func(i int) string { return fmt.Sprintf("agent-%d", i) }
	for i := range agents {
		Append(t, ledgers[0], First(Agent(uid(i)), 1))
	}
	var mu sync.Mutex
	owner := map[string]string{}
	race := func(writer int) error {
		l := ledgers[writer%len(ledgers)]
		from := fmt.Sprintf("writer-%d", writer)
		for round := range rounds {
			agent, err := l.Agent(t.Context(), uid((writer+round)%agents))
			if err != nil {
				return err
			}
			batch := ledger.Batch{Agent: agent.UID, After: agent.LastSeq, Events: Events(from, 2)}
			err = l.Append(t.Context(), batch)
			var conflict *ledger.ConflictError
			if errors.As(err, &conflict) {
				continue
			}
			if err != nil {
				return err
			}
			mu.Lock()
			for _, e := range numbered(agent.LastSeq, batch.Events) {
				owner[fmt.Sprintf("%s/%d", agent.UID, e.Seq)] = string(e.Data)
			}
			mu.Unlock()
		}
		return nil
	}
	inParallel(t, writers, race)

	got := map[string]string{}
	for i := range agents {
		history := must(ledgers[1].Load(t.Context(), uid(i)))(t)
		for n, e := range history.Events {
			if e.Seq != int64(n)+1 {
				t.Fatalf("agent %s has event %d at position %d", uid(i), e.Seq, n+1)
			}
			if e.Seq > 1 {
				got[fmt.Sprintf("%s/%d", uid(i), e.Seq)] = string(e.Data)
			}
		}
	}
	if diff := cmp.Diff(owner, got); diff != "" {
		t.Errorf("events (-acknowledged +found):\n%s", diff)
	}
}

// appendBlocked starts one append that blocks the committer, and then n more that wait behind it. The channel receives the
// outcomes with the index of the batch; the first batch is the one in progress.
func appendBlocked(ctx context.Context, t *testing.T, l ledger.Ledger, batches []ledger.Batch) <-chan outcome {
	outcomes := make(chan outcome, len(batches))
	before := l.Stats()
	for i, b := range batches {
		go func() { outcomes <- outcome{i, l.Append(ctx, b)} }()
		if i == 0 {
			Eventually(t, "a transaction has begun", func() bool { return l.Stats().Transactions > before.Transactions })
		}
	}
	Eventually(t, "all others wait", func() bool { return l.Stats().Waiting == int64(len(batches)-1) })
	return outcomes
}

type outcome struct {
	index int
	err   error
}

func testWaitingAppendsShareOneCommit(t *testing.T, db Database) {
	l := db.Open(t)
	Append(t, l, First(Agent("warm"), 1))
	release := db.Block(t)
	before := l.Stats()
	batches := make([]ledger.Batch, 101)
	for i := range batches {
		batches[i] = First(Agent(fmt.Sprintf("a%03d", i)), 1)
	}
	outcomes := appendBlocked(t.Context(), t, l, batches)
	release()
	for range batches {
		if o := <-outcomes; o.err != nil {
			t.Errorf("append %d: %v", o.index, o.err)
		}
	}
	after := l.Stats()
	if got := after.Transactions - before.Transactions; got != 2 {
		t.Errorf("%d transactions for one append and 100 waiting ones, want 2", got)
	}
	if got := after.Batches - before.Batches; got != 101 {
		t.Errorf("%d batches counted, want 101", got)
	}
}

func testBadBatchDoesNotAffectOthers(t *testing.T, db Database) {
	l := db.Open(t)
	Append(t, l, First(Agent("stale"), 3))
	release := db.Block(t)
	const good, conflicting, orphan = 20, 20, 21
	batches := make([]ledger.Batch, good+2)
	for i := range good {
		batches[i] = First(Agent(fmt.Sprintf("good-%02d", i)), 2)
	}
	batches[conflicting] = ledger.Batch{Agent: "stale", After: 1, Events: Events("x", 1)}
	batches[orphan] = ledger.Batch{
		Agent: "stale", After: 3, Events: Events("x", 1), ModelResults: []ledger.ModelResult{modelDone("none", ledger.StatusSuccess, 1)},
	}
	outcomes := appendBlocked(t.Context(), t, l, batches)
	release()
	for range batches {
		o := <-outcomes
		var conflict *ledger.ConflictError
		switch {
		case o.index == conflicting && !errors.As(o.err, &conflict):
			t.Errorf("the stale batch: %v, want a conflict", o.err)
		case o.index == orphan && !errors.Is(o.err, ledger.ErrNoIntent):
			t.Errorf("the result without an intent: %v, want ErrNoIntent", o.err)
		case o.index < good && o.err != nil:
			t.Errorf("good batch %d: %v", o.index, o.err)
		}
	}
	unchanged(t, l, "stale", 3)
	for i := range good {
		unchanged(t, l, fmt.Sprintf("good-%02d", i), 2)
	}
}

func testCancelledAppendIsWithdrawn(t *testing.T, db Database) {
	l := db.Open(t)
	Append(t, l, First(Agent("a"), 1), First(Agent("b"), 1))
	release := db.Block(t)
	ctx, cancel := context.WithCancel(t.Context())
	outcomes := appendBlocked(ctx, t, l, []ledger.Batch{
		{Agent: "a", After: 1, Events: Events("a", 1)},
		{Agent: "b", After: 1, Events: Events("b", 1)},
	})
	cancel()
	if o := <-outcomes; o.index != 1 || !errors.Is(o.err, context.Canceled) {
		t.Errorf("append %d: %v, want the waiting one to be cancelled", o.index, o.err)
	}
	release()
	if o := <-outcomes; o.index != 0 || o.err != nil {
		t.Errorf("append %d: %v, want the one in progress to be written", o.index, o.err)
	}
	unchanged(t, l, "a", 2)
	unchanged(t, l, "b", 1)
}

func testCancelledAppendInProgressEnds(t *testing.T, db Database) {
	l := db.Open(t)
	Append(t, l, First(Agent("a"), 1))
	release := db.Block(t)
	ctx, cancel := context.WithCancel(t.Context())
	outcomes := appendBlocked(ctx, t, l, []ledger.Batch{{Agent: "a", After: 1, Events: Events("a", 1)}})
	cancel()
	release()
	if o := <-outcomes; o.err != nil {
		t.Errorf("append: %v, want success, because it was written", o.err)
	}
	unchanged(t, l, "a", 2)
}

func testCloseRefusesWaitingAppends(t *testing.T, db Database) {
	l, other := db.Open(t), db.Open(t)
	Append(t, l, First(Agent("a"), 1), First(Agent("b"), 1))
	release := db.Block(t)
	outcomes := appendBlocked(t.Context(), t, l, []ledger.Batch{
		{Agent: "a", After: 1, Events: Events("a", 1)},
		{Agent: "b", After: 1, Events: Events("b", 1)},
	})
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	if o := <-outcomes; o.index != 1 || !errors.Is(o.err, ledger.ErrClosed) {
		t.Errorf("append %d: %v, want the waiting one to get ErrClosed", o.index, o.err)
	}
	release()
	if o := <-outcomes; o.err != nil {
		t.Errorf("the append in progress: %v", o.err)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	if err := l.Append(t.Context(), First(Agent("c"), 1)); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("append after close: %v, want ErrClosed", err)
	}
	unchanged(t, other, "a", 2)
	unchanged(t, other, "b", 1)
}

// inParallel runs fn concurrently for 0 to n-1 and reports their errors.
func inParallel(t testing.TB, n int, fn func(int) error) {
	t.Helper()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			if err := fn(i); err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
		})
	}
	group.Wait()
}
