// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAMemberThatComesAndGoesMovesNothing(t *testing.T) {
	simulate(t, 8, func(t *testing.T, w *world) {
		a := w.startWith("a", slow) // so that the phantom is no member that stays, on a slow machine too
		w.awaitEven(a)
		for range 10 {
			w.phantom(active)
			a.sees(2)
			w.removePhantom()
			a.sees(1)
		}
		if stats := a.Stats(); stats.Held != 8 || stats.HandedOver > 0 {
			t.Errorf("%+v", stats)
		}
	})
}

func TestAMemberThatDiesWithItsFirstLeaseGivesTheShardsBack(t *testing.T) {
	simulate(t, 8, func(t *testing.T, w *world) {
		a := w.start("a")
		w.awaitEven(a)
		w.phantom(active)
		w.await(time.Minute, func() error {
			if held := a.Stats().Held; held != 4 {
				return fmt.Errorf("holds %d", held)
			}
			return nil
		})
		w.awaitEven(a)
		if stats := a.Stats(); stats.HandedOver != 4 || stats.Lost > 0 {
			t.Errorf("%+v", stats)
		}
	})
}

func TestAnUnhealthyMemberLosesItsShardsAndGetsThemBack(t *testing.T) {
	simulate(t, 8, func(t *testing.T, w *world) {
		a, b := w.start("a"), w.start("b")
		w.awaitEven(a, b)
		a.sick.Store(true)
		w.awaitEven(b)
		if _, expired := w.count(); expired > 0 || a.Stats().Lost > 0 {
			t.Errorf("%d shards expired; %+v", expired, a.Stats())
		}
		a.sick.Store(false)
		w.awaitEven(a, b)
	})
}

func TestNothingMovesIfNobodyIsHealthy(t *testing.T) {
	simulate(t, 8, func(t *testing.T, w *world) {
		timing := Timing{LeaseDuration: 5 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: time.Second}
		a, b := w.startWith("a", timing), w.startWith("b", timing)
		w.awaitEven(a, b)
		before, _ := w.count()
		for _, sick := range []bool{true, false} {
			state := map[bool]string{true: unhealthy, false: active}[sick]
			a.sick.Store(sick)
			b.sick.Store(sick)
			for _, r := range []*replica{a, b} {
				w.await(time.Minute, func() error { return r.seesForLong(state) })
			}
		}
		w.awaitEven(a, b)
		if after, _ := w.count(); after != before {
			t.Errorf("%d shards moved", after-before)
		}
	})
}

func TestAHealthyReplicaThatJoinsTakesEverythingFromUnhealthyOnes(t *testing.T) {
	simulate(t, 8, func(t *testing.T, w *world) {
		a, b := w.start("a"), w.start("b")
		w.awaitEven(a, b)
		a.sick.Store(true)
		b.sick.Store(true)
		c := w.start("c")
		w.awaitEven(c)
		a.sick.Store(false)
		b.sick.Store(false)
		w.awaitEven(a, b, c)
	})
}

// seesForLong returns an error unless all members have been in a state for so long that it must have had its effect.
func (r *replica) seesForLong(state string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.view.members {
		if m.state != state || time.Since(m.stated) < 2*r.view.grace() {
			return fmt.Errorf("%s is %s since %s", m.Name, m.state, m.stated)
		}
	}
	return nil
}

func (r *replica) publishes(state string) error {
	lease, err := r.world.leases.Get(r.world.Context(), r.lease, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if got := lease.Annotations[stateAnnotation]; got != state {
		return fmt.Errorf("%s is %s", r.self.Name, got)
	}
	return nil
}
