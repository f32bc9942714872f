// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/ledger"
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
		var shard int
		if _, err := fmt.Sscanf(lease.Name, "nestor-shard-%d", &shard); err != nil {
			wrong.add("there is a Lease %s", lease.Name)
			continue
		}
		owner, holder := owners[ledger.FirstShard+shard], ""
		if lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		held[holder]++
		switch {
		case holder == "":
			wrong.add("the Lease of shard %d has no holder", shard)
		case owner.Name == "" || owner.Released:
			wrong.add("shard %d has no owner in the ledger; its Lease is held by %s", shard, holder)
		case !strings.HasPrefix(holder, owner.Name+"_"):
			wrong.add("shard %d is owned by %s; its Lease is held by %s", shard, owner.Name, holder)
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
