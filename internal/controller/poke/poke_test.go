// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package poke_test

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/internal/controller/poke"
)

// queue is a controller's queue that records requests.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	mu    sync.Mutex
	looks []string
}

func (q *queue) Add(r reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.looks = append(q.looks, r.Name)
}

func (q *queue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.looks)
}

func listen(t *testing.T) (*poke.Queue, *queue) {
	t.Helper()
	pokes, heard := poke.New(), &queue{}
	if err := pokes.Source().Start(t.Context(), heard); err != nil {
		t.Fatal(err)
	}
	return pokes, heard
}

func name(i int) types.NamespacedName { return types.NamespacedName{Name: strconv.Itoa(i)} }

// wait advances the fake time and runs what is due.
func wait(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // fake time of synctest
	synctest.Wait()
}

func TestProgressIsReconciledOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pokes, heard := listen(t)
		for range 100 {
			pokes.AddSoon(name(1))
			wait(10 * time.Millisecond)
		}
		if n := heard.count(); n != 1 {
			t.Errorf("100 steps within a second were reconciled %d times, want once", n)
		}
		pokes.AddSoon(name(1))
		wait(time.Second)
		if n := heard.count(); n != 2 {
			t.Errorf("a step after that was not reconciled: %d requests", n)
		}
	})
}

// TestOtherReconcilesDoNotCancelADelayedOne: a reconcile for another reason may happen before progress is due;
// what happens after it must still be reconciled.
func TestOtherReconcilesDoNotCancelADelayedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pokes, heard := listen(t)
		pokes.AddSoon(name(1))
		wait(100 * time.Millisecond)
		pokes.Add(name(1))
		wait(100 * time.Millisecond)
		pokes.AddSoon(name(1))
		wait(time.Second)
		if n := heard.count(); n != 2 {
			t.Errorf("%d requests, want one at once and one for the later progress", n)
		}
	})
}

// TestReconcilesDoNotGrowWithTheNumberOfAgents: however many agents are active, progress causes about 25 reconciles per
// second.
func TestReconcilesDoNotGrowWithTheNumberOfAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pokes, heard := listen(t)
		const agents, seconds = 1000, 60
		for range seconds {
			for i := range agents {
				pokes.AddSoon(name(i))
			}
			wait(time.Second)
		}
		if n, most := heard.count(), 30*seconds; n > most {
			t.Errorf("%d agents were reconciled %d times in %d s, want at most %d", agents, n, seconds, most)
		}
		for i := range agents {
			pokes.Add(name(i)) // they end
		}
		before := heard.count()
		pokes.AddSoon(name(agents))
		wait(time.Second)
		if n := heard.count(); n != before+1 {
			t.Errorf("%d requests within a second after all ended and one started, want one", n-before)
		}
	})
}
