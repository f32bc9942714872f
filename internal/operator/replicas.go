// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"encoding/json"

	"github.com/nestor-dev/nestor/internal/health"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// describeReplicas returns a health.Installation as JSON.
func describeReplicas(ctx context.Context, from ledger.Shards, shards int) (string, error) {
	rows, err := from.Replicas(ctx)
	if err != nil {
		return "", err
	}
	owners, err := from.Owners(ctx)
	if err != nil {
		return "", err
	}
	found, held := health.Installation{Shards: shards}, map[string]int{}
	for shard := range shards {
		owner := owners[ledger.FirstShard+shard]
		if owner.Live {
			held[owner.Name]++
		} else {
			found.Unowned = append(found.Unowned, shard)
		}
	}
	for i := range rows {
		r := &rows[i]
		found.Replicas = append(found.Replicas, health.ReplicaStatus{Name: r.Name, Held: held[r.ID], State: string(r.State), Expired: r.Expired})
	}
	text, err := json.Marshal(found)
	return string(text), err
}
