// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// grantLog records where and when calls were granted.
type grantLog struct {
	mu    sync.Mutex
	begin time.Time
	calls []string
	held  []*schedule.Grant
}

func (g *grantLog) take(grant *schedule.Grant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, fmt.Sprintf("%s at %s", grant.Provider, time.Since(g.begin)))
	g.held = append(g.held, grant)
}

func (g *grantLog) list() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.calls)
}

func (g *grantLog) check(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, g.list()); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
}

func (g *grantLog) release(i int, result schedule.Result) { g.held[i].Release(result) }

// TestFewAttemptsReachEveryFallback checks that every fallback is attempted if there are enough attempts.
func TestFewAttemptsReachEveryFallback(t *testing.T) {
	for name, tc := range map[string]struct {
		fallback []string
		tries    int
		want     []string
	}{
		"two attempts, one fallback":    {[]string{"b"}, 2, []string{"a", "b"}},
		"three attempts, one fallback":  {[]string{"b"}, 3, []string{"a", "a", "b"}},
		"three attempts, two fallbacks": {[]string{"b", "c"}, 3, []string{"a", "b", "c"}},
		"five attempts, two fallbacks":  {[]string{"b", "c"}, 5, []string{"a", "a", "b", "c", "b"}},
		"three attempts, no fallback":   {nil, 3, []string{"a", "a", "a"}},
		"one attempt, one fallback":     {[]string{"b"}, 1, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := schedule.New(schedule.Options{})
			s.SetProvider(schedule.Provider{Name: "a", Fallback: tc.fallback})
			for _, other := range tc.fallback {
				s.SetProvider(schedule.Provider{Name: other})
			}
			var got []string
			for failures := range tc.tries {
				mustSubmit(t, s, schedule.Ticket{Provider: "a", Namespace: "n", Failures: failures, Attempts: tc.tries}, func(g *schedule.Grant) {
					got = append(got, g.Provider)
					g.Release(schedule.Result{})
				})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("providers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBackOffHoldsWholeProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedule.New(schedule.Options{})
		s.SetProvider(schedule.Provider{Name: "main"})
		got := &grantLog{begin: time.Now()}
		mustSubmit(t, s, schedule.Ticket{Provider: "main", Namespace: "a"}, got.take)
		got.release(0, schedule.Result{BackOff: 30 * time.Second})
		for _, namespace := range []string{"a", "b", "c"} {
			mustSubmit(t, s, schedule.Ticket{Provider: "main", Namespace: namespace}, got.take)
		}
		advance(29 * time.Second)
		if n := len(got.list()); n != 1 {
			t.Fatalf("%d calls were granted during the back-off", n-1)
		}
		advance(time.Second)
		got.check(t, "main at 0s", "main at 30s", "main at 30s", "main at 30s")
	})
}

func TestLongWaitUsesFallback(t *testing.T) {
	for name, tc := range map[string]struct {
		backOff       time.Duration
		secondBackOff time.Duration
		want          []string
	}{
		"a short back-off is waited for": {
			backOff: 10 * time.Second, want: []string{"main at 0s", "main at 10s", "main at 10s"},
		},
		"a long one is not": {
			backOff: time.Minute, want: []string{"main at 0s", "second at 0s", "second at 0s"},
		},
		"the next in the list is taken": {
			backOff: time.Minute, secondBackOff: 40 * time.Second, want: []string{"main at 0s", "second at 0s", "third at 0s", "third at 0s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := schedule.New(schedule.Options{Patience: 15 * time.Second})
				defer s.Close()
				s.SetProvider(schedule.Provider{Name: "main", Concurrent: 1, Fallback: []string{"gone", "second", "third"}})
				s.SetProvider(schedule.Provider{Name: "second"})
				s.SetProvider(schedule.Provider{Name: "third"})
				got := &grantLog{begin: time.Now()}
				ticket := schedule.Ticket{Provider: "main", Namespace: "a"}
				mustSubmit(t, s, ticket, got.take)
				if tc.secondBackOff > 0 {
					mustSubmit(t, s, schedule.Ticket{Provider: "second"}, got.take)
					got.release(1, schedule.Result{BackOff: tc.secondBackOff})
				}
				short := func(g *schedule.Grant) { got.take(g); g.Release(schedule.Result{}) }
				mustSubmit(t, s, ticket, short) // waits when the back-off begins
				got.release(0, schedule.Result{BackOff: tc.backOff})
				mustSubmit(t, s, ticket, short) // submitted during the back-off
				advance(12 * time.Second)
				if diff := cmp.Diff(tc.want, got.list()); diff != "" {
					t.Errorf("grants (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestPatienceEnds uses a provider whose calls take longer than expected.
func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedule.New(schedule.Options{Patience: 15 * time.Second})
		defer s.Close()
		s.SetProvider(schedule.Provider{Name: "main", Concurrent: 1, Fallback: []string{"second"}})
		s.SetProvider(schedule.Provider{Name: "second"})
		got := &grantLog{begin: time.Now()}
		ticket := schedule.Ticket{Provider: "main", Namespace: "a"}
		mustSubmit(t, s, ticket, got.take)
		mustSubmit(t, s, ticket, func(g *schedule.Grant) { got.take(g); g.Release(schedule.Result{}) })
		advance(14 * time.Second)
		got.release(0, schedule.Result{}) // it took 14 s, which raises the expected wait
		mustSubmit(t, s, ticket, got.take)
		advance(time.Second)
		mustSubmit(t, s, ticket, got.take)
		advance(time.Minute)
		got.check(t, "main at 0s", "main at 14s", "main at 14s", "second at 30s")
	})
}

// TestBackedOffFallbackReturnsCalls sends a call to the fallback, which then backs off for longer than the
// call's own provider.
func TestBackedOffFallbackReturnsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedule.New(schedule.Options{Patience: 15 * time.Second})
		defer s.Close()
		s.SetProvider(schedule.Provider{Name: "main", Fallback: []string{"second"}})
		s.SetProvider(schedule.Provider{Name: "second", Concurrent: 1})
		got := &grantLog{begin: time.Now()}
		mustSubmit(t, s, schedule.Ticket{Provider: "second"}, got.take)
		mustSubmit(t, s, schedule.Ticket{Provider: "main"}, got.take)
		got.release(1, schedule.Result{BackOff: 40 * time.Second})
		mustSubmit(t, s, schedule.Ticket{Provider: "main"}, got.take) // goes to second, and waits there
		if s.Waiting("second") != 1 {
			t.Fatal("the call does not wait at the fallback")
		}
		got.release(0, schedule.Result{BackOff: time.Minute})
		advance(time.Minute)
		got.check(t, "second at 0s", "main at 0s", "main at 40s")
	})
}

func TestLongQueueUsesFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedule.New(schedule.Options{Patience: 15 * time.Second})
		defer s.Close()
		s.SetProvider(schedule.Provider{Name: "main", Concurrent: 1, RequestsPerMinute: 2, Fallback: []string{"second"}})
		s.SetProvider(schedule.Provider{Name: "second"})
		got := &grantLog{begin: time.Now()}
		for range 3 {
			mustSubmit(t, s, schedule.Ticket{Provider: "main"}, func(g *schedule.Grant) { got.take(g); g.Release(schedule.Result{}) })
		}
		got.check(t, "main at 0s", "main at 0s", "second at 0s")
	})
}

func TestFailingCallTriesFallbacks(t *testing.T) {
	s := schedule.New(schedule.Options{})
	s.SetProvider(schedule.Provider{Name: "main", Fallback: []string{"gone", "second", "third"}})
	s.SetProvider(schedule.Provider{Name: "second"})
	s.SetProvider(schedule.Provider{Name: "third"})
	s.SetProvider(schedule.Provider{Name: "alone"})
	at := func(provider string, failures int) (got string) {
		mustSubmit(t, s, schedule.Ticket{Provider: provider, Failures: failures, Attempts: 6}, func(grant *schedule.Grant) {
			got = grant.Provider
			grant.Release(schedule.Result{})
		})
		return got
	}
	var got []string
	for failures := range 6 {
		got = append(got, at("main", failures))
	}
	if diff := cmp.Diff([]string{"main", "main", "second", "third", "second", "third"}, got); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
	if got := at("alone", 5); got != "alone" {
		t.Errorf("a call without fallbacks went to %s", got)
	}
}

type observer struct {
	mu     sync.Mutex
	events []string
	begin  time.Time
}

func (o *observer) add(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, fmt.Sprintf(format, args...))
}

func (o *observer) Waiting(provider string, calls int) { o.add("%s waiting %d", provider, calls) }
func (o *observer) Granted(provider string, waited time.Duration) {
	o.add("%s granted after %s", provider, waited)
}
func (o *observer) BackedOff(provider string, until time.Time) {
	o.add("%s backs off for %s", provider, until.Sub(o.begin))
}

func TestObserverSeesQueueAndWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observed := &observer{begin: time.Now()}
		s := schedule.New(schedule.Options{Observer: observed})
		s.SetProvider(schedule.Provider{Name: "p", Concurrent: 1})
		got := &grantLog{begin: time.Now()}
		for range 3 {
			mustSubmit(t, s, schedule.Ticket{Provider: "p"}, got.take)
		}
		advance(2 * time.Second)
		got.release(0, schedule.Result{})
		got.release(1, schedule.Result{BackOff: 5 * time.Second})
		advance(5 * time.Second)
		want := []string{
			"p granted after 0s", "p waiting 1", "p waiting 2", "p granted after 2s", "p waiting 1",
			"p backs off for 7s", "p granted after 7s", "p waiting 0",
		}
		if diff := cmp.Diff(want, observed.events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
