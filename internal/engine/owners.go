// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// owners reads the owners of all shards with one query, for all engines of a process: each of them checks twice a second whether it was
// superseded.
type owners struct {
	ledger ledger.Shards

	mu      sync.Mutex
	last    map[int]ledger.ShardOwner
	started time.Time
}

// read returns the owner of a shard and when the query for it was started, which is not before the given time.
func (o *owners) read(ctx context.Context, shard int, notBefore time.Time) (ledger.ShardOwner, time.Time, error) {
	o.mu.Lock() // engines that ask at the same time wait for one query
	defer o.mu.Unlock()
	if o.last == nil || o.started.Before(notBefore) {
		started := time.Now()
		found, err := o.ledger.Owners(ctx)
		if err != nil {
			return ledger.ShardOwner{}, started, err
		}
		o.last, o.started = found, started
	}
	return o.last[shard], o.started, nil
}
