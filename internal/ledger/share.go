// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"time"

	"github.com/nestor-dev/nestor/internal/share"
)

// Shares stores how limits are divided among the operators of an installation. All times are those of the database's clock.
type Shares interface {
	// UpdateShares reads the shares of some resources, lets decide change those of a replica, and stores them for ttl, in one
	// transaction that excludes other replicas from these resources. decide receives the shares of all replicas, expired ones
	// included, sorted by resource and replica. It returns all shares of this replica: those of resources that it leaves out are
	// deleted. decide may be called more than once.
	//
	// After an error the old or the new shares may be stored, so the replica must not use more than the smaller ones. A share
	// expires no earlier than ttl after UpdateShares was called. Shares that expired long ago are deleted.
	UpdateShares(ctx context.Context, replica string, resources []string, ttl time.Duration, decide func(all []Share) []Share) error
}

// Share is the amount of a resource that one replica may use until the share expires.
type Share = share.Row
