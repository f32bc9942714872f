// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Installation is what the rows say about the operators of a ledger, for people. It is published as JSON.
type Installation struct {
	Replicas []ReplicaStatus `json:"replicas"`
	// Shards is the number of shards, and Unowned are those without a live owner.
	Shards  int   `json:"shards"`
	Unowned []int `json:"unowned,omitempty"`
}

type ReplicaStatus struct {
	Name  string              `json:"name"`
	Held  int                 `json:"held"`
	State ledger.ReplicaState `json:"state"`
	// Expired is for how long its row has been expired.
	Expired time.Duration `json:"expired,omitempty"`
}

// Live counts the replicas that renew their rows.
func (i Installation) Live() int {
	live := 0
	for _, r := range i.Replicas {
		if r.Expired == 0 {
			live++
		}
	}
	return live
}

// Uneven reports whether a live and active replica holds at least two shards more than another one.
func (i Installation) Uneven() bool {
	var counts []int
	for _, r := range i.Replicas {
		if r.Expired == 0 && r.State == ledger.ReplicaActive {
			counts = append(counts, r.Held)
		}
	}
	return len(counts) > 1 && slices.Max(counts)-slices.Min(counts) > 1
}

func inspect(rows []ledger.Replica, owners map[int]ledger.ShardOwner, shards int) Installation {
	found := Installation{Shards: shards}
	held := map[string]int{}
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
		found.Replicas = append(found.Replicas, ReplicaStatus{Name: r.Name, Held: held[r.ID], State: r.State, Expired: r.Expired})
	}
	return found
}
