// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package share_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/share"
)

// installation is a provider and the replicas that call it. It counts what the provider receives.
type installation struct {
	table    *memory     // nil if opened is set
	opened   share.Table // the table if it is not in memory
	replicas []*replica

	mu       sync.Mutex
	limits   []limitsSince
	running  map[*replica]int
	starts   []callStart
	problems []string
	served   map[string]int // by namespace
	waits    []time.Duration
}

type limitsSince struct {
	at time.Time
	schedule.Provider
}

type callStart struct {
	at     time.Time
	tokens int64
}

type replica struct {
	world      *installation
	name       string
	scheduler  *schedule.Scheduler
	connection *connection
	stop       context.CancelFunc
	stopping   <-chan struct{}
	stopped    chan struct{}
	dead       bool // guarded by the lock of the installation
	ended      bool // dead or stopped
}

func newInstallation(limits schedule.Provider) *installation {
	limits.Name = "team/main"
	return &installation{table: newMemory(), running: map[*replica]int{}, served: map[string]int{}, limits: []limitsSince{{time.Now(), limits}}}
}

func (w *installation) start(t testing.TB) *replica {
	r := &replica{world: w, name: fmt.Sprint("replica-", len(w.replicas)), connection: &connection{table: w.opened}, stopped: make(chan struct{})}
	if w.opened == nil {
		r.connection.table = w.table
	}
	keeper := share.NewKeeper(share.Options{Table: r.connection, Name: r.name, StopTimeout: 30 * time.Second, ReportError: func(error) {}})
	r.scheduler = schedule.New(schedule.Options{Shares: keeper})
	r.scheduler.SetProvider(w.limits[len(w.limits)-1].Provider)
	keeper.Add(r.scheduler)
	ctx, stop := context.WithCancel(t.Context())
	r.stop, r.stopping = stop, ctx.Done()
	go func() {
		defer close(r.stopped)
		if err := keeper.Start(ctx); err != nil {
			t.Error(err)
		}
	}()
	w.replicas = append(w.replicas, r)
	return r
}

func (w *installation) setLimits(limits schedule.Provider) {
	w.mu.Lock()
	limits.Name = w.limits[0].Name
	w.limits = append(w.limits, limitsSince{time.Now(), limits})
	w.mu.Unlock()
	for _, r := range w.replicas {
		r.scheduler.SetProvider(limits)
	}
}

// stopInOrder lets the calls in flight end.
func (r *replica) stopInOrder() {
	r.ended = true
	r.stop()
}

// die ends a replica without warning. Its calls end.
func (r *replica) die() {
	r.world.mu.Lock()
	r.dead = true
	delete(r.world.running, r)
	r.world.mu.Unlock()
	r.ended = true
	r.connection.cut.Store(true)
	r.scheduler.Close()
	r.stop()
}

type plannedCall struct {
	namespace, chat string
	estimate, used  int64
	length          time.Duration
	backOff         time.Duration
	ended           func() // may be nil
}

func (r *replica) submit(t testing.TB, c plannedCall) {
	t.Helper()
	_, err := r.scheduler.Submit(schedule.Ticket{Provider: r.world.limits[0].Name, Namespace: c.namespace, Chat: c.chat, Tokens: c.estimate}, func(g *schedule.Grant) {
		r.world.begin(r, c, g.Waited)
		time.AfterFunc(c.length, func() {
			r.world.end(r)
			g.Release(schedule.Result{Tokens: &c.used, BackOff: c.backOff})
			if c.ended != nil {
				c.ended()
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *installation) begin(r *replica, c plannedCall, waited time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.dead {
		w.problems = append(w.problems, "a dead replica started a call")
		return
	}
	now := time.Now()
	w.running[r]++
	w.served[c.namespace]++
	w.waits = append(w.waits, waited)
	w.starts = append(w.starts, callStart{now, c.used})
	w.check(now)
}

func (w *installation) end(r *replica) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.dead {
		w.running[r]--
	}
}

// A limit that was lowered may be exceeded until every replica has read it and returned the amount that it used.
const (
	lowerWithin       = 15 * time.Second
	lowerMinuteWithin = 80 * time.Second
)

// check compares the provider's load with the limits.
func (w *installation) check(now time.Time) {
	running := 0
	for _, n := range w.running {
		running += n
	}
	if limit := w.limit(now, lowerWithin, func(p schedule.Provider) int64 { return int64(p.Concurrent) }); limit > 0 && int64(running) > limit {
		w.problems = append(w.problems, fmt.Sprintf("%d calls in flight, the limit is %d", running, limit))
	}
	var requests, tokens int64
	for i := len(w.starts) - 1; i >= 0 && now.Sub(w.starts[i].at) < time.Minute; i-- {
		requests++
		tokens += w.starts[i].tokens
	}
	if limit := w.limit(now, lowerMinuteWithin, func(p schedule.Provider) int64 { return p.RequestsPerMinute }); limit > 0 && requests > limit {
		w.problems = append(w.problems, fmt.Sprintf("%d requests in a minute, the limit is %d", requests, limit))
	}
	limit := w.limit(now, lowerMinuteWithin, func(p schedule.Provider) int64 { return p.TokensPerMinute })
	alone := requests == 1 // a call above the limit is served alone
	if limit > 0 && tokens > limit && !alone {
		w.problems = append(w.problems, fmt.Sprintf("%d tokens in a minute, the limit is %d", tokens, limit))
	}
}

// limit returns the highest value of a limit within a time; 0 if there was none.
func (w *installation) limit(now time.Time, within time.Duration, of func(schedule.Provider) int64) int64 {
	var highest int64
	for i, l := range w.limits {
		if i+1 < len(w.limits) && now.Sub(w.limits[i+1].at) > within {
			continue
		}
		if of(l.Provider) == 0 {
			return 0
		}
		highest = max(highest, of(l.Provider))
	}
	return highest
}

// close stops all replicas in order and waits for them.
func (w *installation) close() {
	for _, r := range w.replicas {
		r.stop()
	}
	for _, r := range w.replicas {
		<-r.stopped
		r.scheduler.Close()
	}
}

// live returns the replicas that were not ended.
func (w *installation) live() []*replica {
	return slices.DeleteFunc(slices.Clone(w.replicas), func(r *replica) bool { return r.ended })
}

// startWaits returns how long each started call has waited.
func (w *installation) startWaits() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.waits)
}

// count returns the number of calls that were started so far.
func (w *installation) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.starts)
}

func (w *installation) report() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.problems
}

// advance advances the fake time and waits until all goroutines are blocked.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
