// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"sync"

	"github.com/nestor-dev/nestor/internal/replicas"
	"github.com/nestor-dev/nestor/internal/shard"
)

// FromLeases returns the replicas that divide this number of shards with Leases.
func FromLeases(r *replicas.Replicas, shards shard.Count) Replicas {
	l := &leases{Replicas: r, shards: shards, changed: make(chan struct{})}
	r.OnChange(l.notify)
	return l
}

// leases is the view that a replica has of the Leases.
type leases struct {
	*replicas.Replicas
	shards shard.Count

	mu      sync.Mutex
	changed chan struct{}
}

func (l *leases) Holder(hash int) (replicas.Member, bool) {
	if hash < 0 {
		return replicas.Member{}, false
	}
	return l.Replicas.Holder(l.shards.Of(hash))
}

func (l *leases) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

func (l *leases) notify() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}
