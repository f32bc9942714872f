// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Shards decides which engine may append. Each shard has an epoch. An engine that takes over the shard begins a new epoch;
// appends of older epochs are refused within their own transaction. An engine that was suspended, or has not noticed its
// successor, therefore cannot record anything after the take-over.
//
// The owner answers requests, so that a successor can wait for its calls in flight. A dead owner does not answer; where the
// database supports it, LockLiveness detects that at once.
type Shards interface {
	// ReadOwner returns the owner of a shard; zero if it never had one.
	ReadOwner(ctx context.Context, shard int) (ShardOwner, error)
	Owners(ctx context.Context) (map[int]ShardOwner, error)
	// TakeOver begins the next epoch of a shard. It fails with ErrFenced if the epoch is no longer the seen one, with ErrRetired
	// if the shard was retired, and with ErrShardCountChanged if the shard is one of those that SetShardCount counts and their
	// number has changed since this process has set it.
	TakeOver(ctx context.Context, shard int, seen int64, owner string, at time.Time) (Fence, error)
	// SendRequest sends a request to the owner of an epoch, replacing an older request.
	SendRequest(ctx context.Context, epoch Fence, request OwnerRequest) error
	AnswerRequest(ctx context.Context, own Fence, request string) error
	// Release marks that the owner appends no more.
	Release(ctx context.Context, own Fence) error
	// Retire ends the last epoch of a shard: no operator can take it over again. It fails with ErrFenced if own is not the current epoch.
	Retire(ctx context.Context, own Fence) error
	// SetShardCount sets into how many shards the ledger is divided; they are numbered from FirstShard. The number changes only
	// while all of them are released. Otherwise SetShardCount fails with a *ShardsInUseError and returns the current number.
	SetShardCount(ctx context.Context, count int) (current int, err error)
	// LockLiveness takes the liveness lock of a shard, which is held until unlock is called or the process ends in any way. It
	// fails with ErrLivenessLocked if another process has the lock, and with ErrUnsupported if the database has no such lock.
	LockLiveness(ctx context.Context, shard int) (unlock func() error, err error)
}

const (
	// WholeLedger is the shard of an engine that appends for all agents.
	WholeLedger = 1
	// FirstShard is the shard with index 0 of a ledger that is divided among operators.
	FirstShard = 2
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
	// Request is the newest request to the owner, and Answered the newest one that it has confirmed.
	Request  OwnerRequest
	Answered string
}

// Retired reports whether no operator can take over the shard any more.
func (o ShardOwner) Retired() bool { return o.Epoch == RetiredEpoch }

// RetiredEpoch is the epoch of retired shards. There is no next one.
const RetiredEpoch = math.MaxInt64

type OwnerRequest struct {
	ID string
	// HandOver asks the owner to let its calls finish, start no others and release the shard. Without it the request only checks
	// that the owner is running.
	HandOver bool
}

var (
	ErrLivenessLocked = errors.New("another process has the lock of the shard")
	// ErrUnsupported: the database has no such operation.
	ErrUnsupported = errors.New("not supported by the database")
	// ErrFenced: another writer has taken over the shard. The writer must stop.
	ErrFenced = errors.New("another operator has taken over")
	// ErrRetired: the shard was retired, because the ledger is divided into shards now.
	ErrRetired = errors.New("the shard is retired: the ledger is divided among operators that share the work")
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
	return fmt.Sprintf("divide the ledger into %d shards: it has %d, owned by %s: stop these operators before you change --shards, or set it to %d "+
		"(the shards of an operator that was killed stay in use until another one with --shards=%d has taken them over and was stopped)",
		e.Wanted, e.Current, strings.Join(e.Owners, ", "), e.Current, e.Current)
}

func (e *ShardsInUseError) Is(target error) bool { return target == ErrShardsInUse }

type FencedError struct{ Fence Fence }

func (e *FencedError) Error() string {
	return fmt.Sprintf("append in epoch %d of shard %d: %v", e.Fence.Epoch, e.Fence.Shard, ErrFenced)
}

func (e *FencedError) Is(target error) bool { return target == ErrFenced }
