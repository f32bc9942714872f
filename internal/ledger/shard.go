// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Shards decides which operator may append. Each shard has an epoch. An operator that takes over the shard begins a new epoch;
// appends of older epochs are refused within their own transaction. An operator that was suspended, or has not noticed its
// successor, therefore cannot record anything after the take-over.
//
// The owner of a shard is an operator by its ID. While the operator's row expires in the future, no other operator takes the
// shard, unless it is released. All times are those of the database's clock.
type Shards interface {
	// JoinReplicas adds the row of an operator that starts, valid for ttl. It deletes the row of an earlier process with the same
	// name, whose shards are thus free.
	JoinReplicas(ctx context.Context, self Replica, ttl time.Duration) error
	// RenewReplica makes the row of an operator valid for ttl, and adds it again if it was deleted. With it, the operator keeps all its
	// shards. Rows that expired long ago are deleted.
	RenewReplica(ctx context.Context, self Replica, ttl time.Duration) error
	// LeaveReplicas deletes the row of an operator.
	LeaveReplicas(ctx context.Context, id string) error
	// Replicas returns the rows of all operators, sorted by ID.
	Replicas(ctx context.Context) ([]Replica, error)

	// ReadOwner returns the owner of a shard; zero if it never had one.
	ReadOwner(ctx context.Context, shard int) (ShardOwner, error)
	Owners(ctx context.Context) (map[int]ShardOwner, error)
	// TakeOver begins the next epoch of a shard. It fails with ErrFenced if the epoch is no longer the seen one, with ErrOwned if
	// another operator that renews its row owns the shard, and with ErrShardCountChanged if the number of shards has changed since
	// this process has set it.
	TakeOver(ctx context.Context, shard int, seen int64, owner string, at time.Time) (Fence, error)
	// Release marks that the owner appends no more.
	Release(ctx context.Context, own Fence) error
	// SetShardCount sets into how many shards the ledger is divided; they are numbered from FirstShard. The number changes only
	// while no live operator owns one, and ends the epochs of others. Otherwise SetShardCount fails with a *ShardsInUseError and returns the
	// current number.
	SetShardCount(ctx context.Context, count int) (current int, err error)
}

// FirstShard is the shard with index 0. The whole ledger is one shard.
const FirstShard = 1

// Replica is an operator of a ledger.
type Replica struct {
	// ID is unique to the process, and Name to the pod: it is the same after a restart.
	ID, Name string
	// Address and Fingerprint are how other operators reach this one and recognize its key; they may be empty.
	Address, Fingerprint string
	State                ReplicaState

	// The following fields are set by the ledger.

	// Steady is how long the state has not changed.
	Steady time.Duration
	// Expired is for how long the row has been expired; 0 if it is not.
	Expired time.Duration
}

// Live reports whether the operator renews its row.
func (r *Replica) Live() bool { return r.Expired == 0 }

// ReplicaState is what an operator publishes about itself.
type ReplicaState string

const (
	ReplicaActive ReplicaState = "Active"
	// ReplicaUnhealthy cannot reach the API server.
	ReplicaUnhealthy ReplicaState = "Unhealthy"
	// ReplicaStopping hands over its shards.
	ReplicaStopping ReplicaState = "Stopping"
)

// Fence is an epoch of a shard. The zero value is none, for tests and tools that write without an engine.
type Fence struct {
	Shard int
	Epoch int64
}

type ShardOwner struct {
	Epoch int64
	Name  string
	// Released reports that the owner appends no more.
	Released bool
	// Live reports that the owner has not released the shard and renews its row.
	Live bool
}

var (
	// ErrOwned: a live operator owns the shard.
	ErrOwned = errors.New("another operator owns the shard")
	// ErrFenced: another writer has taken over the shard. The writer must stop.
	ErrFenced = errors.New("another operator has taken over")
	// ErrShardCountChanged: other operators have divided the ledger into another number of shards.
	ErrShardCountChanged = errors.New("the number of shards has changed: restart the operator")
	// ErrShardsInUse: the number of shards cannot change while operators own shards.
	ErrShardsInUse = errors.New("the number of shards cannot change while operators own shards")
)

type ShardsInUseError struct {
	// Current is the number of shards, and Wanted the refused one.
	Current, Wanted int
	// Owners are the names of the operators that own shards, sorted.
	Owners []string
}

func (e *ShardsInUseError) Error() string {
	return fmt.Sprintf("divide the ledger into %d shards: it has %d, owned by %s: stop these operators, or set --shards to %d",
		e.Wanted, e.Current, strings.Join(e.Owners, ", "), e.Current)
}

func (e *ShardsInUseError) Is(target error) bool { return target == ErrShardsInUse }

type FencedError struct{ Fence Fence }

func (e *FencedError) Error() string {
	return fmt.Sprintf("append in epoch %d of shard %d: %v", e.Fence.Epoch, e.Fence.Shard, ErrFenced)
}

func (e *FencedError) Is(target error) bool { return target == ErrFenced }
