// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/shard"
)

// checkShards checks that every shard has a live owner, and that the shards are spread evenly over the replicas.
func (w *world) checkShards(ctx context.Context) error {
	owners, err := w.ledger.Owners(ctx)
	if err != nil {
		return err
	}
	var wrong problems
	count := w.settings.replicas
	held := map[string]int{}
	for index := range count.shards {
		if owner := owners[ledger.FirstShard+index]; owner.Live {
			held[owner.Name]++
		} else {
			wrong.add("shard %d has no live owner: %+v", index, owner)
		}
	}
	for holder, n := range held {
		if n < count.shards/count.count || n > (count.shards+count.count-1)/count.count {
			wrong.add("%s holds %d of %d shards, with %d replicas", holder, n, count.shards, count.count)
		}
	}
	if len(held) != count.count {
		wrong.add("%d replicas hold shards, %d run: %v", len(held), count.count, held)
	}
	return wrong.err()
}

// shardTrace describes the shard of an agent: its owner, and what the replicas logged about it.
func (w *world) shardTrace(ctx context.Context, a ledger.Agent) string {
	if w.fleet == nil {
		return ""
	}
	index := shard.Count(w.settings.replicas.shards).Of(max(a.ShardHash, 0))
	owners, err := w.ledger.Owners(ctx)
	if err != nil {
		return fmt.Sprintf("; it is in shard %d, whose owner cannot be read: %v", index, err)
	}
	owner := owners[ledger.FirstShard+index]
	trace := fmt.Sprintf("; it is in shard %d, owned by %s in epoch %d (released: %t)", index, owner.Name, owner.Epoch, owner.Released)
	logs := w.fleet.logs()
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		for line := range strings.Lines(string(logs[name])) {
			if strings.Contains(line, a.UID) || slices.Contains(strings.Fields(line), fmt.Sprint("shard=", index)) {
				trace += "\n  " + name + ": " + strings.TrimSpace(line)
			}
		}
	}
	return trace
}
