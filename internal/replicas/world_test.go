// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const lease = 8 * time.Second

// table is the ledger of a simulated world. Each replica reaches it through a connection of its own.
type table struct {
	ledger.Shards
	mu      sync.Mutex
	rows    map[string]ledger.Replica
	changed map[string]time.Time
	expires map[string]time.Time
	owners  map[int]ledger.ShardOwner
}

func newTable() *table {
	return &table{rows: map[string]ledger.Replica{}, changed: map[string]time.Time{}, expires: map[string]time.Time{}, owners: map[int]ledger.ShardOwner{}}
}

func (w *table) live(id string) bool { return time.Now().Before(w.expires[id]) }

func (w *table) renew(self ledger.Replica, ttl time.Duration) {
	if w.rows[self.ID].State != self.State {
		w.changed[self.ID] = time.Now()
	}
	w.rows[self.ID], w.expires[self.ID] = self, time.Now().Add(ttl)
}

func (w *table) leave(id string) {
	delete(w.rows, id)
	delete(w.expires, id)
}

// read returns the owners by index.
func (w *table) read() map[int]ledger.ShardOwner {
	w.mu.Lock()
	defer w.mu.Unlock()
	owners := map[int]ledger.ShardOwner{}
	for shard, owner := range w.owners {
		owner.Live = !owner.Released && w.live(owner.Name)
		owners[shard] = owner
	}
	return owners
}

// connection fails while it is cut.
type connection struct {
	*table
	cut atomic.Bool
}

var errCut = errors.New("the connection is cut")

// do changes or reads the table, unless the connection is cut.
func (c *connection) do(act func()) error {
	if c.cut.Load() {
		return errCut
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	act()
	return nil
}

func (c *connection) JoinReplicas(_ context.Context, self ledger.Replica, ttl time.Duration) error {
	return c.do(func() {
		for id, row := range c.rows {
			if row.Name == self.Name && id != self.ID {
				c.leave(id)
			}
		}
		c.renew(self, ttl)
	})
}

func (c *connection) RenewReplica(_ context.Context, self ledger.Replica, ttl time.Duration) error {
	return c.do(func() { c.renew(self, ttl) })
}

func (c *connection) LeaveReplicas(_ context.Context, id string) error {
	return c.do(func() { c.leave(id) })
}

func (c *connection) Replicas(context.Context) (rows []ledger.Replica, err error) {
	err = c.do(func() {
		for id, row := range c.rows {
			row.Steady = time.Since(c.changed[id])
			if !c.live(id) {
				row.Expired = max(time.Since(c.expires[id]), 1)
			}
			rows = append(rows, row)
		}
	})
	slices.SortFunc(rows, func(a, b ledger.Replica) int { return cmp.Compare(a.ID, b.ID) })
	return rows, err
}

func (c *connection) Owners(context.Context) (map[int]ledger.ShardOwner, error) {
	if c.cut.Load() {
		return nil, errCut
	}
	owners := map[int]ledger.ShardOwner{}
	for shard, owner := range c.read() {
		owners[ledger.FirstShard+shard] = owner
	}
	return owners, nil
}

// take takes a shard as TakeOver does.
func (c *connection) take(id string, shard int) (epoch int64, err error) {
	cut := c.do(func() {
		owner := c.owners[shard]
		if !owner.Released && owner.Name != id && c.live(owner.Name) {
			err = ledger.ErrOwned
			return
		}
		epoch = owner.Epoch + 1
		c.owners[shard] = ledger.ShardOwner{Epoch: epoch, Name: id}
	})
	return epoch, errors.Join(cut, err)
}

func (c *connection) Release(_ context.Context, own ledger.Fence) error {
	return c.do(func() {
		shard := own.Shard - ledger.FirstShard
		if owner := c.owners[shard]; owner.Epoch == own.Epoch {
			owner.Released = true
			c.owners[shard] = owner
		}
	})
}

// world is an installation in a bubble with a clock of its own.
type world struct {
	*table
	t        *testing.T
	shards   int
	replicas []*replica
	started  int
}

type replica struct {
	*Replicas
	*connection
	world   *world
	sick    atomic.Bool
	stop    context.CancelFunc
	stopped chan struct{}
}

func simulate(t *testing.T, shards int, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{table: newTable(), t: t, shards: shards}
		defer func() {
			for _, r := range w.replicas {
				r.cut.Store(false)
				r.end()
			}
		}()
		test(w)
	})
}

// start starts a replica, with a new name if name is empty.
func (w *world) start(name string) *replica {
	w.started++
	if name == "" {
		name = fmt.Sprint("pod-", w.started)
	}
	r := &replica{connection: &connection{table: w.table}, world: w, stopped: make(chan struct{})}
	r.Replicas = New(Options{
		Ledger: r.connection, ID: fmt.Sprint(name, "_", w.started), Name: name, Shards: w.shards, LeaseDuration: lease,
		Own: r.own, Healthy: func() bool { return !r.sick.Load() }, Log: logr.Discard(),
	})
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	go func() {
		defer close(r.stopped)
		_ = r.Start(ctx)
	}()
	w.replicas = append(w.replicas, r)
	return r
}

func (r *replica) end() {
	r.stop()
	<-r.stopped
}

// kill ends a replica that no longer writes.
func (r *replica) kill() {
	r.cut.Store(true)
	r.end()
	r.world.replicas = slices.DeleteFunc(r.world.replicas, func(other *replica) bool { return other == r })
}

// own takes a shard as an engine does, and keeps it until it detects another owner.
func (r *replica) own(ctx context.Context, shard int) {
	var epoch int64
	for {
		var err error
		if epoch, err = r.take(r.self.ID, shard); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
	for ctx.Err() == nil {
		if owners, err := r.Owners(ctx); err == nil && owners[ledger.FirstShard+shard].Epoch != epoch {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
	pass(200 * time.Millisecond) // calls in flight are detached
	_ = r.Release(ctx, ledger.Fence{Shard: ledger.FirstShard + shard, Epoch: epoch})
}

// counts returns how many shards each live owner has, by the name of its pod.
func (w *world) counts() map[string]int {
	counts := map[string]int{}
	for _, owner := range w.read() {
		if owner.Live {
			w.mu.Lock()
			counts[w.rows[owner.Name].Name]++
			w.mu.Unlock()
		}
	}
	return counts
}

// spread reports whether n replicas own all shards evenly.
func (w *world) spread(n int) bool {
	counts := slices.Sorted(maps.Values(w.counts()))
	sum := 0
	for _, c := range counts {
		sum += c
	}
	return len(counts) == min(n, w.shards) && sum == w.shards && counts[len(counts)-1]-counts[0] <= 1
}

// pass lets the fake time pass.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // fake time of synctest

// within fails if a condition does not hold after some time.
func (w *world) within(d time.Duration, what string, condition func() bool) {
	w.t.Helper()
	for start := time.Now(); !condition(); pass(50 * time.Millisecond) {
		if time.Since(start) > d {
			w.t.Fatalf("not within %s: %s; %v", d, what, w.counts())
		}
	}
}

func TestShardsAreSpreadAndHandedOverQuickly(t *testing.T) {
	simulate(t, 8, func(w *world) {
		first := w.start("")
		w.within(time.Second, "the first owns all", func() bool { return w.spread(1) })
		w.start("")
		w.within(2*time.Second, "two share", func() bool { return w.spread(2) })
		third := w.start("")
		w.within(2*time.Second, "three share", func() bool { return w.spread(3) })
		first.end()
		w.replicas = w.replicas[1:]
		w.within(time.Second, "the others have the shards of the one that stopped", func() bool { return w.spread(2) })
		if stats := first.Stats(); stats.Held != 0 || stats.Lost != 0 || stats.HandedOver < 6 {
			t.Errorf("the first replica: %+v", stats)
		}
		if stats := third.Stats(); stats.TakenOver != 0 || stats.Received == 0 {
			t.Errorf("the third replica: %+v", stats)
		}
		w.within(time.Second, "it has left", func() bool { return len(third.Members()) == 2 })
		pass(time.Second)
		for shard := range 8 {
			if m, ok := third.Holder(shard); !ok || m.Name != "pod-2" && m.Name != "pod-3" {
				t.Errorf("shard %d is held by %+v", shard, m)
			}
		}
	})
}

func TestCrashCostsALeaseDuration(t *testing.T) {
	simulate(t, 8, func(w *world) {
		first, second := w.start(""), w.start("")
		w.within(2*time.Second, "two share", func() bool { return w.spread(2) })
		before := w.read()
		first.kill()
		pass(lease - lease/4 - time.Second)
		for shard, owner := range w.read() {
			if owner.Epoch != before[shard].Epoch {
				t.Errorf("shard %d was taken before its lease expired", shard)
			}
		}
		w.within(lease/4+3*time.Second, "the second owns all", func() bool { return w.spread(1) })
		if stats := second.Stats(); stats.TakenOver != 4 {
			t.Errorf("%+v", stats)
		}
	})
}

func TestRestart_SamePod_KeepsShards(t *testing.T) {
	simulate(t, 8, func(w *world) {
		first := w.start("a")
		w.start("b")
		w.within(2*time.Second, "two share", func() bool { return w.spread(2) })
		before := w.read()
		first.kill()
		again := w.start("a")
		w.within(time.Second, "two share again", func() bool { return again.Stats().Held == 4 && w.spread(2) })
		for shard, owner := range w.read() {
			if was := before[shard]; was.Name == first.self.ID && owner.Name != again.self.ID || was.Name != first.self.ID && owner != was {
				t.Errorf("shard %d moved from %+v to %+v", shard, was, owner)
			}
		}
	})
}

func TestNothingMovesWhenTheLedgerReturns(t *testing.T) {
	simulate(t, 8, func(w *world) {
		for range 3 {
			w.start("")
		}
		w.within(3*time.Second, "three share", func() bool { return w.spread(3) })
		before := w.read()
		for _, r := range w.replicas {
			r.cut.Store(true)
		}
		pass(3 * lease)
		for _, r := range w.replicas {
			r.cut.Store(false)
			pass(time.Second)
		}
		pass(2 * lease)
		if after := w.read(); !maps.Equal(before, after) {
			t.Errorf("shards moved:\n%v\n%v", before, after)
		}
	})
}

func TestShardsLeaveAReplicaWithoutTheAPIServer(t *testing.T) {
	simulate(t, 8, func(w *world) {
		first := w.start("")
		w.start("")
		pass(lease)
		first.sick.Store(true)
		w.within(2*lease, "the healthy one owns all", func() bool { return w.spread(1) })
		first.sick.Store(false)
		w.within(2*lease, "two share", func() bool { return w.spread(2) })
		before := w.read()
		for _, r := range w.replicas {
			r.sick.Store(true)
		}
		pass(4 * lease)
		if after := w.read(); !maps.Equal(before, after) {
			t.Error("shards moved although no replica can reach the API server")
		}
	})
}

// A hand-over whose release does not reach the ledger is completed later.
func TestFailedReleaseIsRepeated(t *testing.T) {
	simulate(t, 2, func(w *world) {
		first := w.start("")
		w.within(time.Second, "the first owns all", func() bool { return w.spread(1) })
		w.start("")
		w.within(time.Second, "the hand-over begins", func() bool { return first.Stats().HandedOver > 0 })
		w.mu.Lock()
		for shard, owner := range w.owners { // as if the release had failed
			w.owners[shard] = ledger.ShardOwner{Epoch: owner.Epoch + 1, Name: first.self.ID}
		}
		w.mu.Unlock()
		w.within(3*time.Second, "two share", func() bool { return w.spread(2) })
	})
}

// TestChaos lets replicas come, go, die, pause and lose the ledger. Owners change only by a hand-over or after an
// expiry (take checks that), and in the end the shards are spread evenly.
func TestChaos(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		simulate(t, 7, func(w *world) {
			random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // repeatable
			w.start("")
			for range 25 {
				pass(time.Duration(random.Int64N(int64(lease))))
				r := w.replicas[random.IntN(len(w.replicas))]
				switch action := random.IntN(5); {
				case action == 0 && len(w.replicas) < 5:
					w.start("")
				case action == 1 && len(w.replicas) > 1:
					r.kill()
				case action == 2 && len(w.replicas) > 1:
					r.cut.Store(false)
					r.end()
					w.replicas = slices.DeleteFunc(w.replicas, func(other *replica) bool { return other == r })
				case action == 3:
					name := r.self.Name
					r.kill()
					w.start(name)
				default:
					r.cut.Store(random.IntN(2) == 0)
				}
			}
			for _, r := range w.replicas {
				r.cut.Store(false)
			}
			w.within(4*lease, "the shards are spread evenly", func() bool { return w.spread(len(w.replicas)) })
		})
	})
}
