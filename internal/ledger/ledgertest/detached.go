// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/shard"
)

// detachedTTL is longer than any test takes.
const detachedTTL = time.Hour

func detachable(keys ...string) []ledger.DetachedCall {
	calls := make([]ledger.DetachedCall, len(keys))
	for i, key := range keys {
		calls[i] = ledger.DetachedCall{Key: key, Agent: "a"}
	}
	return calls
}

func detach(t *testing.T, l ledger.Ledger, own ledger.Fence, replica string, keys ...string) {
	t.Helper()
	if err := l.Detach(t.Context(), own, replica, detachable(keys...), detachedTTL); err != nil {
		t.Fatal(err)
	}
}

func forget(t *testing.T, l ledger.Ledger, own ledger.Fence, keys ...string) {
	t.Helper()
	if err := l.ForgetDetached(t.Context(), own, keys); err != nil {
		t.Fatal(err)
	}
}

func finish(t *testing.T, l ledger.Ledger, key, result string, want bool) {
	t.Helper()
	if got := must(l.FinishDetached(t.Context(), key, []byte(result)))(t); got != want {
		t.Errorf("finish call %s: has a waiter: %t, want %t", key, got, want)
	}
}

func wantDetached(t *testing.T, l ledger.Ledger, shard int, want ...ledger.DetachedCall) {
	t.Helper()
	// Large results take minutes byte by byte.
	sameBytes := cmp.Comparer(func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) })
	if diff := cmp.Diff(want, must(l.DetachedCalls(t.Context(), shard))(t), sameBytes); diff != "" {
		t.Errorf("detached calls of shard %d (-want +got):\n%s", shard, diff)
	}
}

// passDetached moves the times of calls into the past, as if time had passed.
func (d Database) passDetached(t *testing.T, condition string, passed time.Duration) {
	t.Helper()
	d.Exec(t, fmt.Sprintf("UPDATE detached_calls SET expires_at = expires_at - %d WHERE %s", passed.Microseconds(), condition))
}

func testDetachedResultsPassOver(t *testing.T, db Database) {
	first, second := db.Open(t), db.Open(t)
	old := must(first.TakeOver(t.Context(), 2, 0, "first", at(0)))(t)
	other := must(first.TakeOver(t.Context(), 3, 0, "first", at(0)))(t)
	detach(t, first, old, "first", "b", "B", "a", "c")
	detach(t, first, other, "first", "other")
	if err := first.Release(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	own := must(second.TakeOver(t.Context(), 2, old.Epoch, "second", at(1)))(t)
	call := func(key string, result []byte) ledger.DetachedCall {
		return ledger.DetachedCall{Key: key, Agent: "a", Result: result}
	}
	wantDetached(t, second, 2, detachable("B", "a", "b", "c")...)

	large := bytes.Repeat([]byte{0, 0xff, '\'', '\n'}, 1<<20)
	finish(t, first, "a", string(large), true)
	finish(t, first, "b", "", true)
	if !must(first.FinishDetached(t.Context(), "c", nil))(t) {
		t.Error("a call without a result was not finished")
	}
	finish(t, first, "a", string(large), true) // repeated after an error
	finish(t, first, "a", "another", false)
	finish(t, first, "b", "another", false)
	wantDetached(t, second, 2, call("B", nil), call("a", large), call("b", []byte{}), call("c", []byte{}))
	wantDetached(t, second, 3, call("other", nil))

	// The next owner hands over too. The calls stay those of the first one.
	detach(t, second, own, "second", "B", "a", "mine")
	third := must(first.TakeOver(t.Context(), 2, own.Epoch, "third", at(2)))(t)
	wantDetached(t, first, 2, call("B", nil), call("a", large), call("b", []byte{}), call("c", []byte{}), call("mine", nil))
	db.passDetached(t, "key IN ('B', 'mine')", 2*detachedTTL)
	keep(t, second, "second", []string{"B", "mine"}, "B")
	expired := call("B", nil)
	expired.Expired = true
	wantDetached(t, first, 2, expired, call("a", large), call("b", []byte{}), call("c", []byte{}), call("mine", nil))

	forget(t, first, third, "mine", "a", "b", "c", "other", "unknown")
	finish(t, second, "mine", "late", false)
	finish(t, second, "unknown", "late", false)
	wantDetached(t, first, 2, expired)
	wantDetached(t, first, 3, call("other", nil)) // A shard's owner does not forget calls of another shard.
	testInvalidDetachedCalls(t, first, third)
}

// keep extends the time of calls, of which some are not in flight in this process any more.
func keep(t *testing.T, l ledger.Ledger, replica string, keys []string, gone ...string) {
	t.Helper()
	if got := must(l.KeepDetached(t.Context(), replica, keys, detachedTTL))(t); !slices.Equal(got, gone) {
		t.Errorf("not in flight any more: %v, want %v", got, gone)
	}
}

func testInvalidDetachedCalls(t *testing.T, l ledger.Ledger, own ledger.Fence) {
	t.Helper()
	_, finish := l.FinishDetached(t.Context(), "a\x00", nil)
	_, noTime := l.KeepDetached(t.Context(), "r", []string{"k"}, 0)
	_, nobody := l.KeepDetached(t.Context(), "", []string{"k"}, detachedTTL)
	for name, err := range map[string]error{
		"no replica":       l.Detach(t.Context(), own, "", detachable("k"), detachedTTL),
		"no time to live":  l.Detach(t.Context(), own, "r", detachable("k"), 0),
		"no key":           l.Detach(t.Context(), own, "r", detachable(""), detachedTTL),
		"an invalid key":   l.Detach(t.Context(), own, "r", detachable("a\x00"), detachedTTL),
		"no agent":         l.Detach(t.Context(), own, "r", []ledger.DetachedCall{{Key: "k"}}, detachedTTL),
		"keep for no time": noTime,
		"keep for nobody":  nobody,
		"finish":           finish,
		"forget":           l.ForgetDetached(t.Context(), own, []string{"a\x00"}),
	} {
		if !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	keep(t, l, "r", nil)
	if err := errors.Join(l.Detach(t.Context(), own, "r", nil, detachedTTL),
		l.ForgetDetached(t.Context(), own, nil)); err != nil {
		t.Errorf("without calls: %v", err)
	}
}

func testDetachedCallsAreFenced(t *testing.T, db Database) {
	l := db.Open(t)
	old := must(l.TakeOver(t.Context(), 2, 0, "first", at(0)))(t)
	detach(t, l, old, "first", "a")
	own := must(l.TakeOver(t.Context(), 2, old.Epoch, "second", at(1)))(t)
	check := func(fences ...ledger.Fence) {
		t.Helper()
		for _, fence := range fences {
			if err := l.Detach(t.Context(), fence, "first", detachable("b"), detachedTTL); !errors.Is(err, ledger.ErrFenced) {
				t.Errorf("detach with %+v: %v", fence, err)
			}
			if err := l.ForgetDetached(t.Context(), fence, []string{"a"}); !errors.Is(err, ledger.ErrFenced) {
				t.Errorf("forget with %+v: %v", fence, err)
			}
		}
		wantDetached(t, l, 2, detachable("a")...)
	}
	check(old, ledger.Fence{}, ledger.Fence{Shard: 3, Epoch: 1}, ledger.Fence{Shard: 2, Epoch: own.Epoch + 1})
}

// testNothingIsDetachedAfterTakeOver takes over the shard while its owner detaches and forgets calls: the new owner must find all of
// them with its first read.
func testNothingIsDetachedAfterTakeOver(t *testing.T, db Database) {
	first, second := db.Open(t), db.Open(t)
	old := must(first.TakeOver(t.Context(), 2, 0, "first", at(0)))(t)
	const writers = 4
	started := make(chan struct{}, writers)
	var calls []ledger.DetachedCall
	inParallel(t, writers+1, func(i int) error {
		if i == writers {
			for range writers {
				<-started
			}
			if _, err := second.TakeOver(t.Context(), 2, old.Epoch, "second", at(1)); err != nil {
				return err
			}
			var err error
			calls, err = second.DetachedCalls(t.Context(), 2)
			return err
		}
		for n := 0; ; n++ {
			key := fmt.Sprintf("%d/%d", i, n)
			err := first.Detach(t.Context(), old, "first", detachable(key), detachedTTL)
			if err == nil && n%2 == 0 {
				err = first.ForgetDetached(t.Context(), old, []string{key})
			}
			if n == 0 {
				started <- struct{}{}
			}
			if errors.Is(err, ledger.ErrFenced) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	if diff := cmp.Diff(calls, must(second.DetachedCalls(t.Context(), 2))(t), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("changed after the take-over (-found +later):\n%s", diff)
	}
}

func testDetachedCallsExpire(t *testing.T, db Database) {
	l := db.Open(t)
	own := must(l.TakeOver(t.Context(), 2, 0, "first", at(0)))(t)
	detach(t, l, own, "first", "dead", "done", "kept", "late", "live")
	finish(t, l, "done", "result", true)
	db.passDetached(t, "key = 'live'", detachedTTL-time.Minute)
	db.passDetached(t, "key <> 'live'", detachedTTL+time.Minute)
	want := detachable("dead", "done", "kept", "late", "live")
	want[1].Result = []byte("result") // A result does not expire.
	want[0].Expired, want[2].Expired, want[3].Expired = true, true, true
	wantDetached(t, l, 2, want...)

	// Only the process that makes a call extends its time.
	keep(t, l, "second", []string{"dead"}, "dead")
	keep(t, l, "first", []string{"unknown", "kept", "done"}, "done", "unknown")
	want[2].Expired = false
	wantDetached(t, l, 2, want...)
	finish(t, l, "late", "late", true)
	want[3].Expired, want[3].Result = false, []byte("late")
	wantDetached(t, l, 2, want...)

	const short = 20 * time.Millisecond
	for _, start := range []func() error{
		func() error { return l.Detach(t.Context(), own, "first", detachable("short"), short) },
		func() error {
			_, err := l.KeepDetached(t.Context(), "first", []string{"short"}, short)
			return err
		},
	} {
		began := time.Now()
		if err := start(); err != nil {
			t.Fatal(err)
		}
		Eventually(t, "the call expires", func() bool {
			calls := must(l.DetachedCalls(t.Context(), 2))(t)
			return calls[len(calls)-1].Expired
		})
		if took := time.Since(began); took < short {
			t.Errorf("a call that was kept for %s has expired after %s", short, took)
		}
	}
}

func testStaleDetachedCallsAreDeleted(t *testing.T, db Database) {
	l := db.Open(t)
	first := must(l.TakeOver(t.Context(), 2, 0, "first", at(0)))(t)
	second := must(l.TakeOver(t.Context(), 3, 0, "second", at(0)))(t)
	const day = 24 * time.Hour
	detach(t, l, first, "first", "again", "done", "finished", "old", "stale", "young")
	finish(t, l, "done", "result", true)
	db.passDetached(t, "key IN ('again', 'done', 'stale', 'finished')", detachedTTL+day+time.Minute)
	keep(t, l, "first", []string{"done"}, "done") // It is no longer in flight.
	db.passDetached(t, "key = 'young'", detachedTTL+day-time.Minute)
	finish(t, l, "finished", "late", true) // The day begins with the result.
	young := ledger.DetachedCall{Key: "young", Agent: "a", Expired: true}
	finished := ledger.DetachedCall{Key: "finished", Agent: "a", Result: []byte("late")}
	// An owner deletes the stale calls of all shards, and records one of them again.
	detach(t, l, second, "second", "mine", "again")
	wantDetached(t, l, 2, finished, detachable("old")[0], young)
	wantDetached(t, l, 3, detachable("again", "mine")...)

	// So does the retention, also those of agents that it deletes.
	Append(t, l, First(Agent("a"), 1), aged("ended", 5, at(10)))
	if err := l.Detach(t.Context(), first, "first", []ledger.DetachedCall{{Key: "e1", Agent: "ended"}, {Key: "e2", Agent: "ended"}}, detachedTTL); err != nil {
		t.Fatal(err)
	}
	db.passDetached(t, "key = 'mine'", detachedTTL+day+time.Minute)
	deleted := must(l.Prune(t.Context(), at(500), 2))(t)
	if rows := db.rows(t, "detached_calls"); deleted != 2 || rows != 5 {
		t.Errorf("%d rows were deleted in a step of 2, and %d calls remain, want 5", deleted, rows)
	}
	for n := deleted; n > 0; deleted += n {
		n = must(l.Prune(t.Context(), at(500), 2))(t)
	}
	if deleted != 3+9 {
		t.Errorf("%d rows were deleted, want 3 calls and the 9 of the agent", deleted)
	}
	wantDetached(t, l, 2, finished, detachable("old")[0], young)
	wantDetached(t, l, 3, detachable("again")...)
}

func testDetachedCallsMoveToNewShards(t *testing.T, db Database) {
	l := db.Open(t)
	must(l.SetShardCount(t.Context(), 4))(t)
	own := must(l.TakeOver(t.Context(), ledger.FirstShard+3, 0, "first", at(0)))(t)
	hashed := Agent("a")
	hashed.ShardHash = shard.Hashes - 1
	Append(t, l, First(hashed, 1))
	detach(t, l, own, "first", "k")
	if err := l.Release(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	for _, count := range []int{2, 8} {
		must(l.SetShardCount(t.Context(), count))(t)
		for index := range 8 {
			if index == count-1 {
				wantDetached(t, l, ledger.FirstShard+index, detachable("k")...)
			} else {
				wantDetached(t, l, ledger.FirstShard+index)
			}
		}
	}
	finish(t, l, "k", "result", true)
}

// testRacingFinishAndForget finishes calls while their owner forgets them: a result must not appear after that, even if the call is
// detached again.
func testRacingFinishAndForget(t *testing.T, db Database) {
	old, owner := db.Open(t), db.Open(t)
	own := must(owner.TakeOver(t.Context(), 2, 0, "owner", at(0)))(t)
	for round := range 30 {
		key := fmt.Sprintf("call-%d", round)
		detach(t, owner, own, "old", key)
		inParallel(t, 2, func(i int) error {
			if i == 0 {
				_, err := old.FinishDetached(t.Context(), key, []byte("result"))
				return err
			}
			return owner.ForgetDetached(t.Context(), own, []string{key})
		})
		wantDetached(t, owner, 2)
		finish(t, old, key, "result", false)
		detach(t, owner, own, "owner", key)
		wantDetached(t, owner, 2, detachable(key)...)
		forget(t, owner, own, key)
	}
}

// testDetachedCallsOfManyReplicas lets replicas change overlapping sets of calls in any order, with stale ones to delete and another
// number of shards: they must not deadlock.
func testDetachedCallsOfManyReplicas(t *testing.T, db Database) {
	const replicas, calls, rounds = 6, 12, 15
	ledgers := []ledger.Ledger{db.Open(t), db.Open(t), db.Open(t)}
	hashed := Agent("a")
	hashed.ShardHash = 1
	Append(t, ledgers[0], First(hashed, 1))
	own := must(ledgers[0].TakeOver(t.Context(), ledger.FirstShard, 0, "owner", at(0)))(t)
	if err := ledgers[0].Release(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	inParallel(t, replicas, func(i int) error {
		l, replica := ledgers[i%len(ledgers)], fmt.Sprintf("replica-%d", i)
		random := rand.New(rand.NewPCG(uint64(i), 3)) //nolint:gosec // repeatable
		for round := range rounds {
			var keys []string
			for _, n := range random.Perm(calls)[:calls/2] {
				keys = append(keys, fmt.Sprintf("call-%d", n))
			}
			if _, err := db.Raw.ExecContext(t.Context(), "UPDATE detached_calls SET expires_at = 0 WHERE key = $1", keys[0]); err != nil {
				return err
			}
			_, finish := l.FinishDetached(t.Context(), keys[1], []byte("result"))
			_, prune := l.Prune(t.Context(), at(0), 0)
			_, count := l.SetShardCount(t.Context(), 1+(i+round)%4)
			detach := l.Detach(t.Context(), own, replica, detachable(keys...), detachedTTL)
			_, keep := l.KeepDetached(t.Context(), replica, keys, detachedTTL)
			err := errors.Join(finish, prune, count, detach, keep,
				l.ForgetDetached(t.Context(), own, keys[:calls/4]))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// testAbandonedCalls tries to abandon calls with and without a result.
func testAbandonedCalls(t *testing.T, db Database) {
	l := db.Open(t)
	old := must(l.TakeOver(t.Context(), 7, 0, "first", time.Now()))(t)
	detach(t, l, old, "first", "done", "open")
	own := must(l.TakeOver(t.Context(), 7, old.Epoch, "second", time.Now()))(t)
	finish(t, l, "done", "result", true)
	for key, want := range map[string]bool{"done": false, "open": true, "unknown": true} {
		if _, err := l.AbandonDetached(t.Context(), old, key); !errors.Is(err, ledger.ErrFenced) {
			t.Errorf("the previous owner abandons call %s: %v", key, err)
		}
		if got := must(l.AbandonDetached(t.Context(), own, key))(t); got != want {
			t.Errorf("abandon call %s: %t, want %t", key, got, want)
		}
	}
	finish(t, l, "open", "late", false)
	wantDetached(t, l, 7, ledger.DetachedCall{Key: "done", Agent: "a", Result: []byte("result")})
}
