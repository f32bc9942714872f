// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/shard"
	"github.com/nestor-dev/nestor/test/stack"
)

// checkShards checks that every shard has exactly one owner, which holds its Lease and its epoch in the ledger, and that the shards are
// spread evenly over the replicas.
func (w *world) checkShards(ctx context.Context) error {
	var leases coordinationv1.LeaseList
	if err := w.stack.API.List(ctx, &leases, client.InNamespace(stack.OperatorNamespace), client.MatchingLabels{leaseLabel: "shard"}); err != nil {
		return err
	}
	owners, err := w.ledger.Owners(ctx)
	if err != nil {
		return err
	}
	var wrong problems
	count := w.settings.replicas
	if len(leases.Items) != count.shards {
		wrong.add("there are %d Leases for %d shards", len(leases.Items), count.shards)
	}
	held := map[string]int{}
	for i := range leases.Items {
		lease := &leases.Items[i]
		var index int
		if _, err := fmt.Sscanf(lease.Name, "nestor-shard-%d", &index); err != nil {
			wrong.add("there is a Lease %s", lease.Name)
			continue
		}
		owner, holder := owners[ledger.FirstShard+index], ""
		if lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		held[holder]++
		switch {
		case holder == "":
			wrong.add("the Lease of shard %d has no holder", index)
		case owner.Name == "" || owner.Released:
			wrong.add("shard %d has no owner in the ledger; its Lease is held by %s", index, holder)
		case !strings.HasPrefix(holder, owner.Name+"_"):
			wrong.add("shard %d is owned by %s; its Lease is held by %s", index, owner.Name, holder)
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
