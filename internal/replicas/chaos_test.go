// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNoShardHasTwoOwners starts, stops, cuts and heals replicas and deletes Leases at random; the world checks every call of Own. NESTOR_SEED repeats a run.
func TestNoShardHasTwoOwners(t *testing.T) {
	seed := rand.Uint64()
	if text := os.Getenv("NESTOR_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("NESTOR_SEED=%d", seed)
	simulate(t, 16, func(t *testing.T, w *world) {
		c := chaos{world: w, random: rand.New(rand.NewPCG(seed, 0))}
		for range 60 {
			c.step()
			if t.Failed() {
				return
			}
		}
		for len(c.replicas) == 0 {
			c.join()
		}
		for _, r := range c.replicas {
			r.network.set(works)
			r.sick.Store(false)
		}
		healed := time.Now()
		c.world.awaitEven(c.replicas...)
		took := time.Since(healed)
		began, expired := c.world.count()
		t.Logf("%d terms, %d after an expiry; spread evenly %s after the last disturbance", began, expired, took)
		if took > 10*time.Second { // two LeaseDurations and the health's delay are 6 s
			t.Errorf("spread evenly only %s after the last disturbance", took)
		}
	})
}

type chaos struct {
	world    *world
	random   *rand.Rand
	replicas []*replica
	started  int
}

// step does something, and then waits until some renewals have happened.
func (c *chaos) step() {
	c.disturb()
	pause := time.NewTimer(rand.N(2 * short.RetryPeriod))
	defer pause.Stop()
	select {
	case <-c.world.Context().Done():
	case <-pause.C:
	}
}

func (c *chaos) disturb() {
	if len(c.replicas) < 2 {
		c.join()
		return
	}
	r := c.replicas[c.random.IntN(len(c.replicas))]
	switch what := c.random.IntN(10); what {
	case 0, 1:
		if len(c.replicas) < 4 {
			c.join()
		}
	case 2:
		c.world.Logf("%s stops", r.self.Name)
		r.stop()
		c.replicas = slices.DeleteFunc(c.replicas, func(other *replica) bool { return other == r })
	case 3:
		c.world.Logf("%s is killed", r.self.Name)
		r.network.set(hangs)
		r.stop()
		c.replicas = slices.DeleteFunc(c.replicas, func(other *replica) bool { return other == r })
	case 4, 5:
		m := mode(1 + c.random.IntN(3))
		c.world.Logf("%s is cut (%d)", r.self.Name, m)
		r.network.set(m)
	case 6, 7:
		for _, r := range c.replicas {
			r.network.set(works)
		}
	case 8:
		c.deleteLease()
	case 9:
		r.sick.Store(!r.sick.Load())
	}
}

func (c *chaos) join() {
	c.started++
	c.replicas = append(c.replicas, c.world.start(fmt.Sprintf("r%d", c.started)))
}

func (c *chaos) deleteLease() {
	name := shardName(c.random.IntN(c.world.shards))
	if c.random.IntN(2) == 0 {
		name = c.replicas[c.random.IntN(len(c.replicas))].lease
	}
	if err := c.world.leases.Delete(c.world.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		c.world.Fatal(err)
	}
}
