// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// TestLimitsHold runs random loads against random limits, with cancellations and back-offs, and checks what a
// provider observes: never too many parallel calls, never too much in any sixty seconds, and no call during a
// back-off. Each call must be granted once or cancelled, never both and never neither.
func TestLimitsHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		provider := schedule.Provider{
			Name:              "p",
			Concurrent:        rapid.IntRange(0, 5).Draw(rt, "concurrent"),
			RequestsPerMinute: rapid.Int64Range(0, 20).Draw(rt, "requests"),
			TokensPerMinute:   rapid.Int64Range(0, 20_000).Draw(rt, "tokens"),
		}
		calls := rapid.SliceOfN(rapid.Custom(drawCall), 1, 60).Draw(rt, "calls")
		problem := ""
		synctest.Test(t, func(t *testing.T) {
			w := &simulation{provider: provider, calls: calls, granted: map[int]int{}, cancelled: map[int]bool{}}
			w.play(t)
			problem = w.check()
		})
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

// plannedCall is a call that is submitted after a gap, with its outcome.
type plannedCall struct {
	ticket  schedule.Ticket
	gap     time.Duration
	used    int64
	length  time.Duration
	backOff time.Duration
	cancel  bool
}

func drawCall(rt *rapid.T) plannedCall {
	c := plannedCall{
		ticket: schedule.Ticket{
			Provider: "p", Tokens: rapid.Int64Range(0, 5000).Draw(rt, "estimate"),
			Namespace: fmt.Sprint(rapid.IntRange(0, 3).Draw(rt, "namespace")), Chat: fmt.Sprint(rapid.IntRange(0, 3).Draw(rt, "chat")),
		},
		gap:     time.Duration(rapid.IntRange(0, 3000).Draw(rt, "gap")) * time.Millisecond,
		length:  time.Duration(rapid.IntRange(0, 90_000).Draw(rt, "length")) * time.Millisecond,
		backOff: time.Duration(max(0, rapid.IntRange(-20, 30).Draw(rt, "backOff"))) * time.Second,
		cancel:  rapid.IntRange(0, 4).Draw(rt, "cancel") == 0,
	}
	c.used = rapid.Int64Range(0, c.ticket.Tokens).Draw(rt, "used")
	return c
}

type simulation struct {
	provider schedule.Provider
	calls    []plannedCall

	mu        sync.Mutex
	running   int
	peak      int
	starts    []start
	requested time.Time // when the latest back-off was requested
	blocked   time.Time // its end
	early     int
	granted   map[int]int
	cancelled map[int]bool
}

type start struct {
	at     time.Time
	tokens int64
}

func (w *simulation) play(t *testing.T) {
	s := schedule.New(schedule.Options{})
	defer s.Close()
	s.SetProvider(w.provider)
	for i, c := range w.calls {
		<-time.After(c.gap)
		call := mustSubmit(t, s, c.ticket, func(g *schedule.Grant) {
			w.begin(i, c.used)
			time.AfterFunc(c.length, func() { w.end(g, c.used, c.backOff) })
		})
		if c.cancel && call.Cancel() {
			w.cancelled[i] = true
		}
	}
	advance(6 * time.Hour) // enough for all calls; one that still waits is missing from granted
}

func (w *simulation) begin(i int, used int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.granted[i]++
	w.running++
	w.peak = max(w.peak, w.running)
	w.starts = append(w.starts, start{at: now, tokens: used})
	if now.After(w.requested) && now.Before(w.blocked) { // at the same instant the call may have been first
		w.early++
	}
}

func (w *simulation) end(g *schedule.Grant, used int64, backOff time.Duration) {
	w.mu.Lock()
	w.running--
	if now := time.Now(); now.Add(backOff).After(w.blocked) {
		w.requested, w.blocked = now, now.Add(backOff)
	}
	w.mu.Unlock()
	result := schedule.Result{Tokens: &used, BackOff: backOff}
	g.Release(result)
	g.Release(result) // a second release must have no effect
}

func (w *simulation) check() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.provider.Concurrent > 0 && w.peak > w.provider.Concurrent {
		return fmt.Sprintf("%d parallel calls, the limit is %d", w.peak, w.provider.Concurrent)
	}
	if w.early > 0 {
		return fmt.Sprintf("%d calls started during a back-off", w.early)
	}
	for i, first := range w.starts {
		var requests, tokens int64
		for _, s := range w.starts[i:] {
			if s.at.Sub(first.at) < time.Minute {
				requests++
				tokens += s.tokens
			}
		}
		if limit := w.provider.RequestsPerMinute; limit > 0 && requests > limit {
			return fmt.Sprintf("%d requests in a minute, the limit is %d", requests, limit)
		}
		if limit := w.provider.TokensPerMinute; limit >= 5000 && tokens > limit {
			return fmt.Sprintf("%d tokens in a minute, the limit is %d", tokens, limit)
		}
	}
	for i := range w.calls {
		if w.cancelled[i] == (w.granted[i] > 0) || w.granted[i] > 1 {
			return fmt.Sprintf("call %d: cancelled %t, granted %d times", i, w.cancelled[i], w.granted[i])
		}
	}
	return ""
}

// submitCalls returns a scheduler with a provider and the grants of calls with this estimate of tokens.
func submitCalls(t *testing.T, provider schedule.Provider, calls int, tokens int64) (*schedule.Scheduler, chan *schedule.Grant) {
	t.Helper()
	s, grants := schedule.New(schedule.Options{}), make(chan *schedule.Grant, calls)
	s.SetProvider(provider)
	for range calls {
		mustSubmit(t, s, schedule.Ticket{Provider: provider.Name, Tokens: tokens}, func(g *schedule.Grant) { grants <- g })
	}
	return s, grants
}

func TestEstimateIsCorrectedByUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, grants := submitCalls(t, schedule.Provider{Name: "p", TokensPerMinute: 1000}, 3, 900)
		(<-grants).Release(schedule.Result{Tokens: new(int64(50))})
		(<-grants).Release(schedule.Result{}) // unknown usage: the estimate remains
		synctest.Wait()
		if len(grants) != 0 || s.Waiting("p") != 1 {
			t.Fatal("the third call began although the minute is used up")
		}
		advance(62 * time.Second)
		if len(grants) != 1 {
			t.Error("the third call did not begin in the next minute")
		}
	})
}

func TestOversizedCallIsServedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, grants := submitCalls(t, schedule.Provider{Name: "p", TokensPerMinute: 1000}, 2, 5000)
		(<-grants).Release(schedule.Result{})
		advance(30 * time.Second)
		if len(grants) != 0 {
			t.Error("the second call began in the same minute")
		}
		advance(32 * time.Second)
		if len(grants) != 1 {
			t.Error("the second call never began")
		}
	})
}

func TestLimitsCanChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, grants := submitCalls(t, schedule.Provider{Name: "p", Concurrent: 1}, 10, 0)
		s.SetProvider(schedule.Provider{Name: "p", Concurrent: 4})
		if len(grants) != 4 {
			t.Errorf("%d calls run after the limit was raised to 4", len(grants))
		}
		s.SetProvider(schedule.Provider{Name: "p"})
		if len(grants) != 10 {
			t.Errorf("%d calls were granted after the limit was removed, want all 10", len(grants))
		}
		for range 10 {
			(<-grants).Release(schedule.Result{})
		}
		if _, err := s.Submit(schedule.Ticket{Provider: "another"}, func(*schedule.Grant) {}); err == nil {
			t.Error("a call to an unknown provider was accepted")
		}
	})
}

func TestClosedSchedulerGrantsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, grants := submitCalls(t, schedule.Provider{Name: "p", RequestsPerMinute: 1}, 2, 0)
		s.Close()
		advance(time.Hour)
		if len(grants) != 1 {
			t.Errorf("%d calls were granted, want the one before the close", len(grants))
		}
	})
}
