// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
)

func testOldEpochCannotAppend(t *testing.T, db Database) {
	first, second := db.Open(t), db.Open(t)
	old := must(first.TakeOver(t.Context(), 0, 0, "first", at(0)))(t)
	batch := First(Agent("a"), 1)
	batch.Fence = old
	Append(t, first, batch)

	own := must(second.TakeOver(t.Context(), 0, old.Epoch, "second", at(1)))(t)
	more := ledger.Batch{Agent: "a", After: 1, Fence: old, Events: Events("more", 1)}
	if err := first.Append(t.Context(), more); !errors.Is(err, ledger.ErrFenced) {
		t.Fatalf("an append in an old epoch: %v", err)
	}
	if a := must(second.Agent(t.Context(), "a"))(t); a.LastSeq != 1 {
		t.Errorf("the old epoch advanced the agent to event %d", a.LastSeq)
	}
	more.Fence = own
	Append(t, second, more)
	if _, err := first.TakeOver(t.Context(), 0, old.Epoch, "first", at(2)); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("a shard was taken over by a writer that has not seen its owner: %v", err)
	}
	if err := first.Release(t.Context(), old); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("an old epoch was released: %v", err)
	}
}

// testOldEpochDoesNotAffectOthers appends batches of an old epoch that share transactions with batches of the current one.
func testOldEpochDoesNotAffectOthers(t *testing.T, db Database) {
	l := db.Open(t)
	old := must(l.TakeOver(t.Context(), 0, 0, "first", at(0)))(t)
	own := must(l.TakeOver(t.Context(), 0, old.Epoch, "second", at(1)))(t)
	var writers sync.WaitGroup
	var refused, accepted atomic.Int32
	for i := range 64 {
		writers.Go(func() {
			batch := First(Agent(string(rune('A'+i))), 1)
			batch.Fence = own
			if i%2 == 0 {
				batch.Fence = old
			}
			switch err := l.Append(t.Context(), batch); {
			case err == nil:
				accepted.Add(1)
			case errors.Is(err, ledger.ErrFenced):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if accepted.Load() != 32 || refused.Load() != 32 {
		t.Errorf("%d batches were accepted and %d refused", accepted.Load(), refused.Load())
	}
}

// testOldEpochCannotAppendAfterTakeOver takes over the shard while writers append: after that, nothing may be appended in the old
// epoch.
func testOldEpochCannotAppendAfterTakeOver(t *testing.T, db Database) {
	first, second := db.Open(t), db.Open(t)
	old := must(first.TakeOver(t.Context(), 0, 0, "first", at(0)))(t)
	var writers sync.WaitGroup
	started := make(chan struct{}, 8)
	for i := range 8 {
		writers.Go(func() {
			uid := string(rune('a' + i))
			batch := First(Agent(uid), 1)
			batch.Fence = old
			err := first.Append(t.Context(), batch)
			started <- struct{}{}
			for after := int64(1); err == nil; after++ {
				err = first.Append(t.Context(), ledger.Batch{Agent: uid, After: after, Fence: old, Events: Events("more", 1)})
			}
			if !errors.Is(err, ledger.ErrFenced) {
				t.Error(err)
			}
		})
	}
	for range 8 {
		<-started
	}
	must(second.TakeOver(t.Context(), 0, old.Epoch, "second", at(1)))(t)
	found := must(second.Agents(t.Context(), ledger.AgentFilter{}, ledger.Page{}))(t)
	writers.Wait()
	later := must(second.Agents(t.Context(), ledger.AgentFilter{}, ledger.Page{}))(t)
	if diff := cmp.Diff(found.Items, later.Items); diff != "" {
		t.Errorf("appended after the take-over (-found +later):\n%s", diff)
	}
}

func testReleasedShard(t *testing.T, db Database) {
	l := db.Open(t)
	if h := must(l.ReadOwner(t.Context(), 1))(t); h != (ledger.ShardOwner{}) {
		t.Errorf("a shard without an owner: %+v", h)
	}
	own := must(l.TakeOver(t.Context(), 1, 0, "first", at(0)))(t)
	check := func(want ledger.ShardOwner) {
		t.Helper()
		if diff := cmp.Diff(want, must(l.ReadOwner(t.Context(), 1))(t)); diff != "" {
			t.Errorf("owner (-want +got):\n%s", diff)
		}
	}
	check(ledger.ShardOwner{Epoch: 1, Name: "first"})
	if err := l.Release(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	check(ledger.ShardOwner{Epoch: 1, Name: "first", Released: true})
	must(l.TakeOver(t.Context(), 1, 1, "second", at(1)))(t)
	check(ledger.ShardOwner{Epoch: 2, Name: "second"})
}
