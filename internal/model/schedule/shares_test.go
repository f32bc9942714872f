// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/share"
)

// notices records what a scheduler notifies.
type notices struct {
	mu   sync.Mutex
	list []string
}

func (n *notices) add(notice string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, notice)
}

// take returns the notices since the last call.
func (n *notices) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.list
	n.list = nil
	return list
}

func (n *notices) Short(resource string) { n.add("short of " + resource) }
func (n *notices) Freed(resource string) { n.add("freed " + resource) }
func (n *notices) Started()              { n.add("started") }

func TestCallsStartWithinTheShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noted := &notices{}
		s := schedule.New(schedule.Options{Shares: noted})
		s.SetProvider(schedule.Provider{Name: "ns/limited", Concurrent: 10})
		s.SetProvider(schedule.Provider{Name: "ns/unlimited"})
		limited, unlimited := &grantLog{begin: time.Now()}, &grantLog{begin: time.Now()}
		for range 4 {
			mustSubmit(t, s, schedule.Ticket{Provider: "ns/limited"}, limited.take)
		}
		mustSubmit(t, s, schedule.Ticket{Provider: "ns/unlimited"}, unlimited.take)
		const concurrent = "provider/ns/limited/concurrent"
		short := "short of " + concurrent
		if diff := cmp.Diff([]string{short, short, short, short, "started"}, noted.take()); diff != "" {
			t.Errorf("notices (-want +got):\n%s", diff)
		}
		if len(limited.list()) != 0 || len(unlimited.list()) != 1 {
			t.Errorf("without shares %v and %v were started", limited.list(), unlimited.list())
		}

		s.Apply([]share.Share{{Resource: concurrent, Amount: 2, Since: time.Now()}, {Resource: "provider/ns/unknown/concurrent", Amount: 1}, {Resource: "active/ns"}})
		if n := len(limited.list()); n != 2 {
			t.Errorf("%d calls were started with a share of 2", n)
		}
		if used := s.Lower(concurrent, 1); used != 2 {
			t.Errorf("%d are in use, want 2", used)
		}
		limited.release(0, schedule.Result{})
		if n := len(limited.list()); n != 2 {
			t.Errorf("%d calls were started after the share was lowered", n)
		}
		if diff := cmp.Diff([]string{"freed " + concurrent}, noted.take()); diff != "" {
			t.Errorf("notices (-want +got):\n%s", diff)
		}
		advance(share.ValidFor)
		limited.release(1, schedule.Result{})
		if n := len(limited.list()); n != 2 {
			t.Errorf("%d calls were started after the share has expired", n)
		}
		s.SetProvider(schedule.Provider{Name: "ns/limited"})
		if n := len(limited.list()); n != 4 {
			t.Errorf("%d calls were started after the limit was removed, want all", n)
		}
	})
}

func TestDemandsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedule.New(schedule.Options{Shares: &notices{}})
		s.SetProvider(schedule.Provider{Name: "ns/p", Concurrent: 10, RequestsPerMinute: 20, TokensPerMinute: 5000})
		if got := s.Demands(); len(got) != 0 {
			t.Errorf("an idle provider is reported: %v", got)
		}
		s.Apply([]share.Share{
			{Resource: "provider/ns/p/concurrent", Amount: 2, Since: time.Now()},
			{Resource: "provider/ns/p/requests", Amount: 2, Since: time.Now()},
			{Resource: "provider/ns/p/tokens", Amount: 2000, Since: time.Now()},
		})
		got := &grantLog{begin: time.Now()}
		mustSubmit(t, s, schedule.Ticket{Provider: "ns/p", Namespace: "a", Chat: "1", Tokens: 500}, got.take)
		mustSubmit(t, s, schedule.Ticket{Provider: "ns/p", Namespace: "a", Chat: "2", Tokens: 9000}, got.take)
		mustSubmit(t, s, schedule.Ticket{Provider: "ns/p", Namespace: "b", Chat: "3", Tokens: 700}, got.take)
		mustSubmit(t, s, schedule.Ticket{Provider: "ns/p", Namespace: "b", Chat: "3", Tokens: 300}, got.take)
		want := []share.Demand{
			{Resource: "provider/ns/p/concurrent", Limit: 10, Used: 2, Needs: map[string]share.Need{"a": {Amount: 2, Weight: 2}, "b": {Amount: 2, Weight: 1}}},
			{
				Resource: "provider/ns/p/requests", PerMinute: true, Limit: 20, Used: 2,
				Needs: map[string]share.Need{"a": {Amount: 2, Weight: 2}, "b": {Amount: 2, Weight: 1}},
			},
			{
				Resource: "provider/ns/p/tokens", PerMinute: true, Limit: 5000, Used: 1200, Unit: 5000,
				Needs: map[string]share.Need{"a": {Amount: 9500, Weight: 2}, "b": {Amount: 1000, Weight: 1}},
			},
		}
		if diff := cmp.Diff(want, s.Demands()); diff != "" {
			t.Errorf("demands (-want +got):\n%s", diff)
		}
		got.release(0, schedule.Result{BackOff: 10 * time.Second})
		if backOff := s.Demands()[0].BackOff; backOff != 10*time.Second {
			t.Errorf("a back-off of %s is reported, want 10 s", backOff)
		}
		s.Apply([]share.Share{{Resource: "provider/ns/p/concurrent", Since: time.Now(), BackOff: time.Minute}})
		if backOff := s.Demands()[0].BackOff; backOff != 10*time.Second {
			t.Errorf("the back-off of another replica is reported again: %s", backOff)
		}
	})
}

// TestScarceShareUsesFallback has a share of one call of a provider that would otherwise serve many.
func TestScarceShareUsesFallback(t *testing.T) {
	for name, scarce := range map[string]bool{"more can be had": false, "others have the rest": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := schedule.New(schedule.Options{Shares: &notices{}})
				defer s.Close()
				s.SetProvider(schedule.Provider{Name: "ns/main", Concurrent: 100, Fallback: []string{"ns/second"}})
				s.SetProvider(schedule.Provider{Name: "ns/second"})
				apply := func() {
					s.Apply([]share.Share{{Resource: "provider/ns/main/concurrent", Amount: 1, Since: time.Now(), Scarce: scarce}})
				}
				apply()
				got := &grantLog{begin: time.Now()}
				mustSubmit(t, s, schedule.Ticket{Provider: "ns/main"}, got.take)
				advance(40 * time.Second)
				got.release(0, schedule.Result{}) // a call takes 40 s
				apply()
				for range 2 {
					mustSubmit(t, s, schedule.Ticket{Provider: "ns/main"}, got.take)
				}
				toFallback := slices.ContainsFunc(got.list(), func(call string) bool { return call == "ns/second at 40s" })
				if toFallback != scarce {
					t.Errorf("started: %v", got.list())
				}
			})
		})
	}
}

func TestNamespacesAreServedByWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedule.New(schedule.Options{Shares: &notices{}})
		defer s.Close()
		s.SetProvider(schedule.Provider{Name: "ns/p", Concurrent: 100})
		var mu sync.Mutex
		served := map[string]int{}
		for range 400 {
			for _, namespace := range []string{"half", "whole"} {
				mustSubmit(t, s, schedule.Ticket{Provider: "ns/p", Namespace: namespace}, func(g *schedule.Grant) {
					mu.Lock()
					served[namespace]++
					mu.Unlock()
					time.AfterFunc(time.Second, func() { g.Release(schedule.Result{}) })
				})
			}
		}
		for range 60 {
			s.Apply([]share.Share{{Resource: "provider/ns/p/concurrent", Amount: 3, Since: time.Now(), Weights: map[string]float64{"half": 0.5}}})
			advance(time.Second)
		}
		mu.Lock()
		defer mu.Unlock()
		if served["half"] < 55 || served["half"] > 65 || served["whole"] < 110 || served["whole"] > 130 {
			t.Errorf("served: %v, want 60 and 120", served)
		}
	})
}
