// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// join adds replicas whose names are their IDs, for a minute.
func join(t *testing.T, l ledger.Shards, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := l.JoinReplicas(t.Context(), ledger.Replica{ID: id, Name: id, State: ledger.ReplicaActive}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

func testReplicasAreListed(t *testing.T, db Database) {
	l := db.Open(t)
	self := ledger.Replica{ID: "b_1", Name: "b", Address: "10.0.0.1:9443", Fingerprint: "print", State: ledger.ReplicaActive}
	if err := l.JoinReplicas(t.Context(), self, time.Minute); err != nil {
		t.Fatal(err)
	}
	join(t, l, "a")
	check := func(want ...ledger.Replica) {
		t.Helper()
		got := must(l.Replicas(t.Context()))(t)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(ledger.Replica{}, "Steady")); diff != "" {
			t.Errorf("replicas (-want +got):\n%s", diff)
		}
	}
	other := ledger.Replica{ID: "a", Name: "a", State: ledger.ReplicaActive}
	check(other, self)
	Eventually(t, "the state has been the same for a while", func() bool {
		return must(l.Replicas(t.Context()))(t)[1].Steady > 20*time.Millisecond
	})
	if err := l.RenewReplica(t.Context(), self, time.Minute); err != nil {
		t.Fatal(err)
	}
	steady := must(l.Replicas(t.Context()))(t)[1].Steady
	if steady <= 20*time.Millisecond {
		t.Errorf("after a renewal, the state seems to have changed %s ago", steady)
	}
	self.State = ledger.ReplicaStopping
	if err := l.RenewReplica(t.Context(), self, time.Minute); err != nil {
		t.Fatal(err)
	}
	check(other, self)
	for range 2 { // it may be repeated
		if err := l.LeaveReplicas(t.Context(), other.ID); err != nil {
			t.Fatal(err)
		}
	}
	check(self)
	if err := l.RenewReplica(t.Context(), other, time.Minute); err != nil { // its row was deleted
		t.Fatal(err)
	}
	check(other, self)
	for name, bad := range map[string]ledger.Replica{"no ID": {Name: "n"}, "no name": {ID: "n"}} {
		if err := l.JoinReplicas(t.Context(), bad, time.Minute); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := l.RenewReplica(t.Context(), self, 0); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("no time to live: %v", err)
	}
}

func testLiveOwnerKeepsItsShards(t *testing.T, db Database) {
	first, second := db.Open(t), db.Open(t)
	join(t, first, "first")
	join(t, second, "second")
	own := must(first.TakeOver(t.Context(), 1, 0, "first", at(0)))(t)
	if owner := must(second.ReadOwner(t.Context(), 1))(t); !owner.Live {
		t.Errorf("the owner is not live: %+v", owner)
	}
	take := func() error {
		_, err := second.TakeOver(t.Context(), 1, own.Epoch, "second", at(1))
		return err
	}
	if err := take(); !errors.Is(err, ledger.ErrOwned) {
		t.Fatalf("the shard of a live owner was taken: %v", err)
	}
	Append(t, first, fenced(First(Agent("a"), 1), own))

	// Its row expires.
	if err := first.RenewReplica(t.Context(), ledger.Replica{ID: "first", Name: "first"}, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the row expires", func() bool { return !must(second.Owners(t.Context()))(t)[1].Live })
	if rows := must(second.Replicas(t.Context()))(t); rows[0].Live() || !rows[1].Live() {
		t.Errorf("replicas: %+v", rows)
	}
	if err := take(); err != nil {
		t.Fatal(err)
	}
	// It wakes up.
	join(t, first, "first")
	if err := first.Append(t.Context(), fenced(First(Agent("b"), 1), own)); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("a replica that was suspended has appended: %v", err)
	}
	if _, err := first.TakeOver(t.Context(), 1, own.Epoch, "first", at(2)); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("a replica that was suspended took the shard in the old epoch: %v", err)
	}
	if _, err := first.TakeOver(t.Context(), 1, own.Epoch+1, "first", at(2)); !errors.Is(err, ledger.ErrOwned) {
		t.Errorf("a replica that was suspended took the shard back: %v", err)
	}
	// The owner itself may begin another epoch.
	must(second.TakeOver(t.Context(), 1, own.Epoch+1, "second", at(3)))(t)
}

func testRestartedReplicaTakesItsOwnShards(t *testing.T, db Database) {
	l := db.Open(t)
	begin := func(id string) {
		t.Helper()
		if err := l.JoinReplicas(t.Context(), ledger.Replica{ID: id, Name: "pod"}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	begin("pod_1")
	join(t, l, "other")
	must(l.TakeOver(t.Context(), 1, 0, "pod_1", at(0)))(t)
	must(l.TakeOver(t.Context(), 2, 0, "other", at(0)))(t)
	begin("pod_2")
	must(l.TakeOver(t.Context(), 1, 1, "pod_2", at(1)))(t)
	if _, err := l.TakeOver(t.Context(), 2, 1, "pod_2", at(1)); !errors.Is(err, ledger.ErrOwned) {
		t.Errorf("the shard of another replica was taken: %v", err)
	}
}

// testRacingReplicas lets live replicas take, use and release the same shards: one at a time may own a shard.
func testRacingReplicas(t *testing.T, db Database) {
	const replicas, shards, rounds = 4, 3, 20
	ledgers := make([]ledger.Ledger, replicas)
	for i := range ledgers {
		ledgers[i] = db.Open(t)
		join(t, ledgers[i], fmt.Sprint("replica-", i))
	}
	var mu sync.Mutex
	owned, taken := map[int]int{}, 0
	count := func(shard, n int) {
		mu.Lock()
		defer mu.Unlock()
		if owned[shard] += n; owned[shard] > 1 {
			t.Errorf("%d replicas own shard %d", owned[shard], shard)
		}
		taken += max(n, 0)
	}
	inParallel(t, replicas, func(i int) error {
		l, name := ledgers[i], fmt.Sprint("replica-", i)
		for round := range rounds {
			shard := ledger.FirstShard + (i+round)%shards
			owner, err := l.ReadOwner(t.Context(), shard)
			if err != nil {
				return err
			}
			fence, err := l.TakeOver(t.Context(), shard, owner.Epoch, name, at(0))
			if errors.Is(err, ledger.ErrOwned) || errors.Is(err, ledger.ErrFenced) {
				continue
			}
			if err != nil {
				return err
			}
			count(shard, 1)
			if err := l.RenewReplica(t.Context(), ledger.Replica{ID: name, Name: name}, time.Minute); err != nil {
				return err
			}
			count(shard, -1)
			if err := l.Release(t.Context(), fence); err != nil {
				return err
			}
		}
		return nil
	})
	if taken == 0 {
		t.Error("no shard was taken")
	}
}
