// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/internal/cluster"
)

// recordingQueue is a controller's queue that records requests.
type recordingQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	mu       sync.Mutex
	requests []string
}

func (q *recordingQueue) Add(r reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requests = append(q.requests, r.Name)
}

func (q *recordingQueue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.requests)
}

func listen(t *testing.T) (*cluster.Queue, *recordingQueue) {
	t.Helper()
	pokes, requests := cluster.NewQueue(), &recordingQueue{}
	if err := pokes.Source().Start(t.Context(), requests); err != nil {
		t.Fatal(err)
	}
	return pokes, requests
}

func name(i int) types.NamespacedName { return types.NamespacedName{Name: strconv.Itoa(i)} }

func advance(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // fake time of synctest
	synctest.Wait()
}

func TestProgressIsReconciledOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pokes, requests := listen(t)
		for range 100 {
			pokes.AddDelayed(name(1))
			advance(10 * time.Millisecond)
		}
		if n := requests.count(); n != 1 {
			t.Errorf("100 steps within a second were reconciled %d times, want once", n)
		}
		pokes.AddDelayed(name(1))
		advance(time.Second)
		if n := requests.count(); n != 2 {
			t.Errorf("a step after that was not reconciled: %d requests", n)
		}
	})
}

// TestDelayedReconcileAfterImmediateOne: a reconcile for another reason may happen before progress is due;
// what happens after it must still be reconciled.
func TestDelayedReconcileAfterImmediateOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pokes, requests := listen(t)
		pokes.AddDelayed(name(1))
		advance(100 * time.Millisecond)
		pokes.Add(name(1))
		advance(100 * time.Millisecond)
		pokes.AddDelayed(name(1))
		advance(time.Second)
		if n := requests.count(); n != 2 {
			t.Errorf("%d requests, want one at once and one for the later progress", n)
		}
	})
}

// TestReconcileRateIsBounded: however many agents are active, progress causes about 25 reconciles per
// second.
func TestReconcileRateIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pokes, requests := listen(t)
		const agents, seconds = 1000, 60
		for range seconds {
			for i := range agents {
				pokes.AddDelayed(name(i))
			}
			advance(time.Second)
		}
		if n, limit := requests.count(), 30*seconds; n > limit {
			t.Errorf("%d agents were reconciled %d times in %d s, want at most %d", agents, n, seconds, limit)
		}
		for i := range agents {
			pokes.Add(name(i)) // they end
		}
		before := requests.count()
		pokes.AddDelayed(name(agents))
		advance(time.Second)
		if n := requests.count(); n != before+1 {
			t.Errorf("%d requests within a second after all ended and one started, want one", n-before)
		}
	})
}

// TestEndsAreReconciledBeforeStarts: a thousand objects that start at the same time must not delay the results of those
// that have ended.
func TestEndsAreReconciledBeforeStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pokes, requests := cluster.NewQueue(), priorityqueue.New[reconcile.Request]("test")
		defer requests.ShutDown()
		if err := pokes.Source().Start(t.Context(), requests); err != nil {
			t.Fatal(err)
		}
		pokes.AddDelayed(name(0)) // progress
		advance(time.Second)
		for i := range 4 {
			requests.Add(reconcile.Request{NamespacedName: name(1 + i)}) // as a watch event of an object does
		}
		pokes.AddEnded(name(5))
		pokes.Add(name(6))
		pokes.AddEnded(name(3)) // it starts and ends
		synctest.Wait()
		var order []string
		for range 7 {
			request, _ := requests.Get()
			order = append(order, request.Name)
			requests.Done(request)
		}
		if got, want := strings.Join(order, " "), "5 3 1 2 4 6 0"; got != want {
			t.Errorf("reconciled in the order %s, want %s", got, want)
		}
	})
}
