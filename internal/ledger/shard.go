// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
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
	// TakeOver begins the next epoch of a shard. It fails with ErrFenced if the epoch is no longer the seen one.
	TakeOver(ctx context.Context, shard int, seen int64, owner string, at time.Time) (Fence, error)
	// SendRequest sends a request to the owner of an epoch, replacing an older request.
	SendRequest(ctx context.Context, epoch Fence, request OwnerRequest) error
	// AnswerRequest confirms a request.
	AnswerRequest(ctx context.Context, own Fence, request string) error
	// Release marks that the owner appends no more.
	Release(ctx context.Context, own Fence) error
	// LockLiveness takes the liveness lock of a shard, which is held until unlock is called or the process ends in any way. It
	// fails with ErrLivenessLocked if another process has the lock, and with ErrUnsupported if the database has no such lock.
	LockLiveness(ctx context.Context, shard int) (unlock func() error, err error)
}

// Fence is an epoch of a shard. The zero value is none, for tests and tools that write without an engine.
type Fence struct {
	Shard int
	Epoch int64
}

// ShardOwner is the owner of a shard.
type ShardOwner struct {
	Epoch int64
	Name  string
	// Released reports that the owner appends no more.
	Released bool
	// Request is the newest request to the owner, and Answered the newest one that it has confirmed.
	Request  OwnerRequest
	Answered string
}

// OwnerRequest is a request to the owner of a shard.
type OwnerRequest struct {
	ID string
	// HandOver asks the owner to let its calls finish, start no others and release the shard. Without it the request only checks
	// that the owner is running.
	HandOver bool
}

// Errors of Shards for errors.Is.
var (
	// ErrLivenessLocked: another process has the liveness lock of the shard.
	ErrLivenessLocked = errors.New("another process has the lock of the shard")
	// ErrUnsupported: the database has no such operation.
	ErrUnsupported = errors.New("not supported by the database")
	// ErrFenced: another writer has taken over the shard. The writer must stop.
	ErrFenced = errors.New("another operator has taken over")
)

// FencedError is the ErrFenced of an append.
type FencedError struct{ Fence Fence }

// Error implements error.
func (e *FencedError) Error() string {
	return fmt.Sprintf("append in epoch %d of shard %d: %v", e.Fence.Epoch, e.Fence.Shard, ErrFenced)
}

// Is reports whether target is ErrFenced.
func (e *FencedError) Is(target error) bool { return target == ErrFenced }
