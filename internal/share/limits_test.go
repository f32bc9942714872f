// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package share_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// The load is random. Replicas die, stop, and lose the database; transactions take long or fail before or after they
// are stored; limits change. No call takes longer than a share counts after its replica stopped using it.
func TestLimitsHoldForTheInstallation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// The values are not drawn by rapid, which prefers small ones: then replicas seldom compete.
		d := draw{rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))}
		steps := rapid.IntRange(1, 100).Draw(rt, "steps")
		var problems []string
		synctest.Test(t, func(t *testing.T) {
			w := newInstallation(d.limits())
			w.table.setHook(d.hook())
			for range 3 {
				w.start(t)
			}
			changes := d.one(3)
			for range steps {
				advance(d.upTo(3 * time.Second))
				d.act(t, w, changes)
			}
			w.table.setHook(func(moment) error { return nil })
			for _, r := range w.replicas {
				r.connection.cut.Store(r.dead)
			}
			advance(30 * time.Second)
			w.close()
			problems = w.report()
		})
		if len(problems) > 0 {
			rt.Fatal(problems[:min(3, len(problems))])
		}
	})
}

type draw struct{ *rand.Rand }

func (d draw) upTo(most time.Duration) time.Duration { return time.Duration(d.Int64N(int64(most))) }

func (d draw) one(n int) bool { return d.IntN(n) == 0 }

func (d draw) limits() schedule.Provider {
	var p schedule.Provider
	if d.IntN(3) > 0 {
		p.Concurrent = 1 + d.IntN(9)
	}
	if d.one(3) {
		p.RequestsPerMinute = 1 + d.Int64N(60)
	}
	if d.one(3) {
		p.TokensPerMinute = 900 + d.Int64N(20_000)
	}
	return p
}

// hook delays a third of the transactions and fails a tenth.
func (d draw) hook() func(moment) error {
	d = draw{rand.New(rand.NewPCG(d.Uint64(), 0))} // used by other goroutines
	return func(moment) error {
		switch n := d.IntN(30); {
		case n == 0:
			return errCut
		case n < 4:
			<-time.After(d.upTo(300 * time.Millisecond))
		}
		return nil
	}
}

func (d draw) call() plannedCall {
	c := plannedCall{namespace: fmt.Sprint(d.IntN(4)), chat: fmt.Sprint(d.IntN(4)), estimate: d.Int64N(1500), length: d.upTo(4900 * time.Millisecond)}
	c.used = d.Int64N(c.estimate + 1)
	if d.one(50) {
		c.backOff = d.upTo(5 * time.Second)
	}
	return c
}

// act submits calls or disturbs a replica. One that dies or stops is replaced by another one.
func (d draw) act(t *testing.T, w *installation, limitsChange bool) {
	live := w.live()
	r := live[d.IntN(len(live))]
	switch n := d.IntN(20); {
	case n == 0:
		r.die()
		w.start(t)
	case n == 1:
		r.stopInOrder()
		w.start(t)
	case n < 4:
		r.connection.cut.Store(true)
	case n < 7:
		r.connection.cut.Store(false)
	case n == 7 && limitsChange:
		w.setLimits(d.limits())
	default:
		for range d.IntN(20) {
			r.submit(t, d.call())
		}
	}
}
