// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// TestWaitingCallsCostLittle queues ten thousand calls and measures their memory and goroutines.
func TestWaitingCallsCostLittle(t *testing.T) {
	const calls, perCall = 10_000, 700
	s := schedule.New(schedule.Options{})
	s.SetProvider(schedule.Provider{Name: "p", Concurrent: 1, Fallback: []string{"other"}})
	var held *schedule.Grant
	mustSubmit(t, s, schedule.Ticket{Provider: "p"}, func(g *schedule.Grant) { held = g })

	goroutines, before := runtime.NumGoroutine(), heap()
	waiting := make([]*schedule.QueuedCall, 0, calls)
	for i := range calls {
		waiting = append(waiting, mustSubmit(t, s, schedule.Ticket{
			Provider: "p", Namespace: fmt.Sprint("namespace-", i%100), Chat: fmt.Sprint("chat-", i%1000), Tokens: 1000,
		}, func(*schedule.Grant) { t.Error("a cancelled call was granted") }))
	}
	grown := heap() - before
	t.Logf("%d waiting calls take %d KiB, %d bytes each", calls, grown/1024, grown/calls)
	if grown > calls*perCall {
		t.Errorf("%d waiting calls take %d bytes each, want at most %d", calls, grown/calls, perCall)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines wait, want none", n-goroutines)
	}

	for i, call := range waiting {
		if !call.Cancel() {
			t.Fatalf("call %d could not be cancelled", i)
		}
		if call.Cancel() {
			t.Fatalf("call %d was cancelled twice", i)
		}
	}
	if n := s.Waiting("p"); n != 0 {
		t.Errorf("%d calls wait after all were cancelled", n)
	}
	held.Release(schedule.Result{})
}

func TestGrantedCallCannotBeCancelled(t *testing.T) {
	s := schedule.New(schedule.Options{})
	s.SetProvider(schedule.Provider{Name: "p"})
	var held *schedule.Grant
	call := mustSubmit(t, s, schedule.Ticket{Provider: "p"}, func(g *schedule.Grant) { held = g })
	if call.Cancel() {
		t.Error("a granted call was cancelled")
	}
	held.Release(schedule.Result{})
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkSubmitAndRelease measures the scheduler alone, with a backlog in a hundred namespaces.
func BenchmarkSubmitAndRelease(b *testing.B) {
	s := schedule.New(schedule.Options{})
	s.SetProvider(schedule.Provider{Name: "p", Concurrent: 8})
	grants := make(chan *schedule.Grant, 1<<20)
	submit := func(i int) {
		mustSubmit(b, s, schedule.Ticket{Provider: "p", Namespace: fmt.Sprint(i % 100), Chat: fmt.Sprint(i % 1000)}, func(g *schedule.Grant) { grants <- g })
	}
	for i := range 1000 {
		submit(i)
	}
	for i := 0; b.Loop(); i++ {
		submit(i)
		(<-grants).Release(schedule.Result{})
	}
}
