// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"sync"

	"github.com/nestor-dev/nestor/internal/replicas"
	"github.com/nestor-dev/nestor/internal/shard"
)

// FromRows returns the replicas that divide this number of shards with rows of the ledger.
func FromRows(r *replicas.Replicas, shards shard.Count) Replicas {
	l := &rows{Replicas: r, shards: shards, changed: make(chan struct{})}
	r.OnChange(l.notify)
	return l
}

// rows is the view that a replica has of the rows.
type rows struct {
	*replicas.Replicas
	shards shard.Count

	mu      sync.Mutex
	changed chan struct{}
}

func (l *rows) Holder(hash int) (replicas.Member, bool) {
	if hash < 0 {
		return replicas.Member{}, false
	}
	return l.Replicas.Holder(l.shards.Of(hash))
}

func (l *rows) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

func (l *rows) notify() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}
