// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/shard"
)

// testFencedShardDoesNotAffectOthers appends for many shards in one transaction, half of which have another owner.
func testFencedShardDoesNotAffectOthers(t *testing.T, db Database) {
	l, other := db.Open(t), db.Open(t)
	const shards = 32
	batches := []ledger.Batch{First(Agent("in-progress"), 1)}
	for i := range shards {
		fence := must(l.TakeOver(t.Context(), ledger.FirstShard+i, 0, "first", at(0)))(t)
		for _, n := range []string{"a", "b"} {
			batch := First(Agent(fmt.Sprintf("%s-%02d", n, i)), 2)
			batch.Fence = fence
			batches = append(batches, batch)
		}
		if i%2 == 1 {
			must(other.TakeOver(t.Context(), ledger.FirstShard+i, fence.Epoch, "second", at(1)))(t)
		}
	}
	before := l.Stats()
	release := db.Block(t)
	outcomes := appendBlocked(t.Context(), t, l, batches)
	release()
	for range batches {
		o := <-outcomes
		fence := batches[o.index].Fence
		var fenced *ledger.FencedError
		switch {
		case (fence.Shard-ledger.FirstShard)%2 == 0 && o.err != nil:
			t.Errorf("append for shard %d: %v", fence.Shard, o.err)
		case (fence.Shard-ledger.FirstShard)%2 == 1 && (!errors.As(o.err, &fenced) || fenced.Fence != fence):
			t.Errorf("append for shard %d: %v, want it to be fenced", fence.Shard, o.err)
		}
	}
	if got := l.Stats().Transactions - before.Transactions; got != 2 {
		t.Errorf("%d transactions for one append and %d waiting ones, want 2", got, len(batches)-1)
	}
	for _, b := range batches[1:] {
		if (b.Fence.Shard-ledger.FirstShard)%2 == 0 {
			unchanged(t, l, b.Agent, 2)
		} else if _, err := l.Agent(t.Context(), b.Agent); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("agent %s of a shard with another owner: %v", b.Agent, err)
		}
	}
}

func testOwnersOfAllShards(t *testing.T, db Database) {
	l := db.Open(t)
	if owners := must(l.Owners(t.Context()))(t); len(owners) != 0 {
		t.Errorf("a new ledger has owners: %v", owners)
	}
	must(l.TakeOver(t.Context(), 1, 0, "first", at(0)))(t)
	second := must(l.TakeOver(t.Context(), 7, 0, "second", at(1)))(t)
	if err := l.Release(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	want := map[int]ledger.ShardOwner{1: {Epoch: 1, Name: "first"}, 7: {Epoch: 1, Name: "second", Released: true}}
	if diff := cmp.Diff(want, must(l.Owners(t.Context()))(t)); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

func fenced(b ledger.Batch, fence ledger.Fence) ledger.Batch {
	b.Fence = fence
	return b
}

func testAgentsByShardHash(t *testing.T, db Database) {
	l := db.Open(t)
	var all []string
	for i, hash := range []int{0, 1, 2047, 2048, 40000, shard.Hashes - 1} {
		a := Agent(fmt.Sprintf("agent-%d", i))
		a.ShardHash, a.CreatedAt = hash, at(i)
		batch := First(a, 1)
		if i == 1 {
			batch.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: at(9)}
		}
		Append(t, l, batch)
		all = append(all, a.UID)
		if got := must(l.Agent(t.Context(), a.UID))(t); got.ShardHash != hash {
			t.Errorf("the shard hash of %s is %d, want %d", a.UID, got.ShardHash, hash)
		}
	}
	for _, test := range []struct {
		filter ledger.AgentFilter
		want   []string
	}{
		{ledger.AgentFilter{}, all},
		{ledger.AgentFilter{ShardHashes: &ledger.HashRange{From: 0, To: shard.Hashes}}, all},
		{ledger.AgentFilter{ShardHashes: &ledger.HashRange{From: 0, To: 2048}}, all[:3]},
		{ledger.AgentFilter{ShardHashes: &ledger.HashRange{From: 0, To: 2048}, Live: true}, []string{all[0], all[2]}},
		{ledger.AgentFilter{ShardHashes: &ledger.HashRange{From: 2048, To: 4096}, Live: true}, all[3:4]},
		{ledger.AgentFilter{ShardHashes: &ledger.HashRange{From: 5000, To: 5000}}, []string{}},
	} {
		got := pages(t, 2, func(p ledger.Page) (ledger.List[ledger.Agent], error) { return l.Agents(t.Context(), test.filter, p) })
		if diff := cmp.Diff(test.want, names(got, func(a ledger.Agent) string { return a.UID })); diff != "" {
			t.Errorf("agents of %+v (-want +got):\n%s", test.filter.ShardHashes, diff)
		}
	}
	for _, hash := range []int{-1, shard.Hashes} {
		bad := Agent("bad")
		bad.ShardHash = hash
		if err := l.Append(t.Context(), First(bad, 1)); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("an agent with shard hash %d: %v", hash, err)
		}
	}
}

func testShardCountChangesWhenNoneIsOwned(t *testing.T, db Database) {
	l, late := db.Open(t), db.Open(t)
	set := func(l ledger.Ledger, count, want int) {
		t.Helper()
		if got := must(l.SetShardCount(t.Context(), count))(t); got != want {
			t.Errorf("the ledger has %d shards, want %d", got, want)
		}
	}
	for _, count := range []int{0, -1, shard.Hashes + 1} {
		if _, err := l.SetShardCount(t.Context(), count); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%d shards: %v", count, err)
		}
	}
	set(l, 32, 32)
	set(late, 32, 32)
	join(t, l, "a", "b")
	var own []ledger.Fence
	for i, name := range []string{"b", "a", "b"} {
		own = append(own, must(l.TakeOver(t.Context(), ledger.FirstShard+i, 0, name, at(0)))(t))
	}
	dead := must(l.TakeOver(t.Context(), ledger.FirstShard+7, 0, "dead", at(0)))(t)
	set(late, 32, 32)
	for i, want := range []string{"a, b", "a, b", "b"} {
		current, err := l.SetShardCount(t.Context(), 16)
		var inUse *ledger.ShardsInUseError
		if current != 32 || !errors.Is(err, ledger.ErrShardsInUse) || !errors.As(err, &inUse) || strings.Join(inUse.Owners, ", ") != want {
			t.Fatalf("change the number of shards while they are owned: %d, %v", current, err)
		}
		if err := l.Release(t.Context(), own[i]); err != nil {
			t.Fatal(err)
		}
	}
	set(l, 16, 16)
	if _, err := late.TakeOver(t.Context(), ledger.FirstShard, own[0].Epoch, "late", at(1)); !errors.Is(err, ledger.ErrShardCountChanged) {
		t.Errorf("an operator with another number of shards took over one: %v", err)
	}
	if _, err := late.TakeOver(t.Context(), ledger.FirstShard+20, 0, "late", at(1)); !errors.Is(err, ledger.ErrShardCountChanged) {
		t.Errorf("an operator with another number of shards took over a new one: %v", err)
	}
	must(l.TakeOver(t.Context(), ledger.FirstShard, own[0].Epoch, "early", at(1)))(t)
	if err := l.Append(t.Context(), fenced(First(Agent("a"), 1), dead)); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("an epoch of the old number of shards was continued: %v", err)
	}
}

// testRacingShardCounts lets operators with different numbers of shards race: all that own shards at the same time must agree.
func testRacingShardCounts(t *testing.T, db Database) {
	const operators, rounds = 4, 15
	ledgers := make([]ledger.Ledger, operators)
	for i := range ledgers {
		ledgers[i] = db.Open(t)
	}
	// owners has a counter for each number of shards.
	var owners [2]atomic.Int32
	var taken atomic.Int32
	inParallel(t, operators, func(i int) error {
		l, mine, name := ledgers[i], i%2, fmt.Sprintf("operator-%d", i)
		if err := l.JoinReplicas(t.Context(), ledger.Replica{ID: name, Name: name}, time.Minute); err != nil {
			return err
		}
		for range rounds {
			_, err := l.SetShardCount(t.Context(), 8+mine)
			if errors.Is(err, ledger.ErrShardsInUse) {
				continue
			}
			if err != nil {
				return err
			}
			owner, err := l.ReadOwner(t.Context(), ledger.FirstShard+i)
			if err != nil {
				return err
			}
			fence, err := l.TakeOver(t.Context(), ledger.FirstShard+i, owner.Epoch, name, at(0))
			if errors.Is(err, ledger.ErrShardCountChanged) || errors.Is(err, ledger.ErrFenced) { // the number changed since the read
				continue
			}
			if err != nil {
				return err
			}
			taken.Add(1)
			owners[mine].Add(1)
			for range 5 { // other operators run between these reads
				if _, err := l.Owners(t.Context()); err != nil {
					return err
				}
				if n := owners[1-mine].Load(); n > 0 {
					t.Errorf("%d operators own shards with another number of shards", n)
				}
			}
			owners[mine].Add(-1)
			if err := l.Release(t.Context(), fence); err != nil {
				return err
			}
		}
		return nil
	})
	if taken.Load() == 0 {
		t.Error("no shard was taken over")
	}
	for _, count := range []int{8, 9} {
		if got := must(ledgers[0].SetShardCount(t.Context(), count))(t); got != count {
			t.Errorf("the ledger has %d shards although none is owned, want %d", got, count)
		}
	}
}
