// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
	"time"
)

// Installation is the state of the replicas in the ledger, for messages. The heartbeat has it as JSON.
type Installation struct {
	Replicas []ReplicaStatus `json:"replicas"`
	// Shards is the number of shards, and Unowned are those without a live owner.
	Shards  int   `json:"shards"`
	Unowned []int `json:"unowned,omitempty"`
}

const (
	ReplicaActive    = "Active"
	ReplicaUnhealthy = "Unhealthy"
	ReplicaStopping  = "Stopping"
)

type ReplicaStatus struct {
	Name string `json:"name"`
	Held int    `json:"held"`
	// State is Active, Unhealthy (it cannot reach the API server) or Stopping.
	State string `json:"state"`
	// Expired is for how long its row in the ledger has been expired.
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
		if r.Expired == 0 && r.State == ReplicaActive {
			counts = append(counts, r.Held)
		}
	}
	return len(counts) > 1 && slices.Max(counts)-slices.Min(counts) > 1
}
