// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package poke_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/internal/controller/poke"
)

// queue is a controller's queue that writes down what is to be looked at, and after how long.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	now   []string
	later map[string]time.Duration
	adds  int
}

func (q *queue) Add(r reconcile.Request) { q.now = append(q.now, r.Name) }

func (q *queue) AddAfter(r reconcile.Request, after time.Duration) {
	q.adds++
	q.later[r.Name] = after
}

func listen(t *testing.T) (*poke.Queue, *queue) {
	t.Helper()
	pokes, heard := poke.New(), &queue{later: map[string]time.Duration{}}
	if err := pokes.Source().Start(t.Context(), heard); err != nil {
		t.Fatal(err)
	}
	return pokes, heard
}

func name(i int) types.NamespacedName { return types.NamespacedName{Name: strconv.Itoa(i)} }

func TestProgressIsLookedAtOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pokes, heard := listen(t)
		for range 100 {
			pokes.AddSoon(name(1))
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // The clock of synctest does not wait.
		}
		if heard.adds != 1 || heard.later["1"] != time.Second {
			t.Errorf("100 steps within a second wake the controller %d times after %s, want once after 1s", heard.adds, heard.later["1"])
		}
		pokes.AddSoon(name(1))
		if heard.adds != 2 {
			t.Error("a step after that is not looked at")
		}
	})
}

// However many agents are at work, progress takes a controller about 25 looks a second.
func TestLooksDoNotGrowWithTheNumberOfAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pokes, heard := listen(t)
		const agents, seconds = 1000, 60
		for range seconds * 10 {
			for i := range agents {
				pokes.AddSoon(name(i))
			}
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // The clock of synctest does not wait.
		}
		if most := agents + 30*seconds; heard.adds > most {
			t.Errorf("%d agents wake the controller %d times in %d s, want at most %d", agents, heard.adds, seconds, most)
		}
		for i := range agents {
			pokes.Add(name(i)) // they end
		}
		pokes.AddSoon(name(agents))
		if after := heard.later[strconv.Itoa(agents)]; after != time.Second {
			t.Errorf("the first step after they have ended is looked at after %s, want 1s", after)
		}
	})
}
