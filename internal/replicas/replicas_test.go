// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// slow is a timing with which nothing is renewed during a test.
var slow = Timing{LeaseDuration: 60 * time.Second, RenewDeadline: 50 * time.Second, RetryPeriod: 20 * time.Second}

func TestShardsAreSpreadWhenReplicasComeAndGo(t *testing.T) {
	simulate(t, 32, func(t *testing.T, w *world) {
		a := w.start("a")
		w.awaitEven(a)
		b := w.start("b")
		w.awaitEven(a, b)
		c := w.start("c")
		w.awaitEven(a, b, c)
		for _, r := range []*replica{a, b, c} {
			w.await(time.Minute, func() error { return r.agrees(a, b, c) })
		}
		a.end()
		w.awaitEven(b, c)
		b.end()
		w.awaitEven(c)
		if _, expired := w.count(); expired > 0 {
			t.Errorf("%d shards were taken over by expiry", expired)
		}
		t.Logf("longest time without an owner in a hand-over: %s", w.longestGap())
		if gap := w.longestGap(); gap > short.LeaseDuration {
			t.Errorf("a hand-over took %s", gap)
		}
		stats := c.Stats()
		if stats.Held != 32 || stats.Received < 32 || stats.TakenOver+stats.Lost > 0 || a.Stats().HandedOver < 32 || a.Stats().Held > 0 {
			t.Errorf("a: %+v, c: %+v", a.Stats(), stats)
		}
		c.end()
		list, err := w.leases.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, lease := range list.Items {
			if holder(&lease) != "" || lease.Labels[leaseLabel] != shardLease {
				t.Errorf("%s is left, held by %q", lease.Name, holder(&lease))
			}
		}
	})
}

// agrees returns an error if a replica does not see these members, each with its shards.
func (r *replica) agrees(members ...*replica) error {
	seen := map[Member]int{}
	for shard := range r.world.shards {
		if m, ok := r.Holder(shard); ok {
			seen[m]++
		}
	}
	for _, m := range members {
		if n := m.Stats().Held; seen[m.Self()] != n {
			return fmt.Errorf("%s sees %d shards of %v, not %d", r.self.Name, seen[m.Self()], m.Self(), n)
		}
		if !slices.Contains(r.Members(), m.Self()) || m.Self().Address == "" || m.Self().Fingerprint == "" {
			return fmt.Errorf("%s sees %v", r.self.Name, r.Members())
		}
	}
	if len(r.Members()) != len(members) || r.changes.Load() == 0 {
		return fmt.Errorf("%s sees %v, changes: %d", r.self.Name, r.Members(), r.changes.Load())
	}
	return nil
}

func TestAKilledReplicaIsReplacedWhenItsLeasesExpire(t *testing.T) {
	simulate(t, 12, func(t *testing.T, w *world) {
		a, b, c := w.start("a"), w.start("b"), w.start("c")
		w.awaitEven(a, b, c)
		begin := time.Now()
		a.network.set(hangs) // for the others the same as a killed process
		w.awaitEven(b, c)
		took := time.Since(begin)
		t.Logf("took over after %s", took)
		if took > short.LeaseDuration+time.Second {
			t.Errorf("took over after %s, with a lease duration of %s", took, short.LeaseDuration)
		}
		if _, expired := w.count(); expired < 4 || b.Stats().TakenOver+c.Stats().TakenOver < 4 {
			t.Errorf("%d terms began after an expiry; %+v, %+v", expired, b.Stats(), c.Stats())
		}
		if lost := a.Stats().Lost; lost < 4 {
			t.Errorf("the killed replica lost %d shards", lost)
		}
	})
}

func TestACutReplicaStopsBeforeOthersBegin(t *testing.T) {
	for name, m := range map[string]mode{"requests fail": fails, "requests hang": hangs, "responses are lost": losesResponse} {
		t.Run(name, func(t *testing.T) {
			simulate(t, 8, func(_ *testing.T, w *world) {
				a, b := w.start("a"), w.start("b")
				for range 2 {
					w.awaitEven(a, b)
					a.network.set(m)
					w.awaitEven(b)
					a.network.set(works)
				}
				w.awaitEven(a, b)
			})
		})
	}
}

// Others saw a renewal long before its response arrived, so the holder must count from its request.
func TestAReplicaWithLateResponsesStopsBeforeOthersBegin(t *testing.T) {
	simulate(t, 16, func(t *testing.T, w *world) {
		a, b := w.start("a"), w.start("b")
		w.awaitEven(a, b)
		a.network.late.Store(int64(700 * time.Millisecond)) // longer than the time between the ends of RenewDeadline and LeaseDuration
		w.await(time.Minute, func() error { return a.network.wrote(100) })
		a.network.set(hangs)
		w.awaitEven(b)
	})
}

func TestAnOutageOfTheAPIServerMovesNothing(t *testing.T) {
	simulate(t, 8, func(t *testing.T, w *world) {
		a, b := w.start("a"), w.start("b")
		w.awaitEven(a, b)
		before := w.holders()
		moved := a.Stats().Received + b.Stats().Received
		a.network.set(fails)
		b.network.set(fails)
		w.await(time.Minute, func() error { return empty(w.owned()) })
		w.await(time.Minute, func() error { // longer than all Leases
			if a.blind() && b.blind() {
				return nil
			}
			return errors.New("not yet blind")
		})
		a.network.set(works)
		w.await(time.Minute, func() error { // has taken back its own, not those of the other
			if owned := w.owned(); owned["a"] < 4 {
				return fmt.Errorf("%v", owned)
			}
			return nil
		})
		b.network.set(works)
		w.awaitEven(a, b)
		if after := w.holders(); !slices.Equal(before, after) {
			t.Errorf("held by %v, then by %v", before, after)
		}
		if now := a.Stats().Received + b.Stats().Received; now != moved {
			t.Errorf("%d shards were handed over", now-moved)
		}
	})
}

func (r *replica) blind() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view.blind(time.Now())
}

func empty(owned map[string]int) error {
	if len(owned) > 0 {
		return fmt.Errorf("%v", owned)
	}
	return nil
}

// holders returns the holders of all shards as the API server has them.
func (w *world) holders() []string {
	var holders []string
	for shard := range w.shards {
		lease, err := w.leases.Get(w.Context(), shardName(shard), metav1.GetOptions{})
		if err != nil {
			w.Fatal(err)
		}
		holders = append(holders, holder(lease))
	}
	return holders
}

// A replica writes once in a RetryPeriod for each shard that it holds and once for itself, and not everything at once.
func TestWrites(t *testing.T) {
	simulate(t, 32, func(t *testing.T, w *world) {
		a := w.start("a")
		w.awaitEven(a)
		w.await(time.Minute, func() error { return a.network.wrote(33 * 3) })
		a.network.mu.Lock()
		a.network.sent = nil
		a.network.mu.Unlock()
		begin := time.Now()
		w.await(time.Minute, func() error { return a.network.wrote(33 * 10) })
		a.network.mu.Lock()
		defer a.network.mu.Unlock()
		periods := float64(time.Since(begin)) / float64(short.RetryPeriod)
		rate := float64(len(a.network.sent)) / periods
		t.Logf("%.1f writes in a RetryPeriod", rate)
		if rate > 33*1.1 {
			t.Errorf("%.1f writes in a RetryPeriod", rate)
		}
		var near []int // for each write, how many follow in a tenth of a RetryPeriod
		for i, at := range a.network.sent {
			after := slices.IndexFunc(a.network.sent[i:], func(next time.Time) bool { return next.Sub(at) > short.RetryPeriod/10 })
			if after > 0 {
				near = append(near, after)
			}
		}
		slices.Sort(near)
		median := near[len(near)/2] // a machine that stands still for a moment makes some writes late
		t.Logf("%d writes in a tenth of it", median)
		if median > 16 {
			t.Errorf("%d of 33 writes in a tenth of a RetryPeriod", median)
		}
	})
}

func (n *network) wrote(count int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.sent) < count {
		return fmt.Errorf("%d writes", len(n.sent))
	}
	return nil
}

func TestTimingIsChecked(t *testing.T) {
	for _, timing := range []Timing{
		{LeaseDuration: 1500 * time.Millisecond, RenewDeadline: time.Second, RetryPeriod: 100 * time.Millisecond},
		{LeaseDuration: 2 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: time.Second},
		{LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 2 * time.Second},
		{LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second},
	} {
		if err := New(Options{Timing: timing}).Start(t.Context()); err == nil {
			t.Errorf("%+v is accepted", timing)
		}
	}
	if err := New(Options{}).options.Timing.validate(); err != nil {
		t.Error(err)
	}
}

func TestStartReturnsWithoutTheAPIServer(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		a := w.start("a")
		w.awaitEven(a)
		a.network.set(hangs)
		ctx, cancel := context.WithTimeout(t.Context(), short.RenewDeadline+3*short.RetryPeriod+10*time.Second)
		defer cancel()
		a.stop()
		select {
		case <-a.stopped:
		case <-ctx.Done():
			t.Error("does not return")
		}
	})
}
