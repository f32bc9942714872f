// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Shards decide which engine may append. Each shard of the trees has an epoch; whoever takes the shard begins a new one, and from then on
// an append under an older one is refused, in the same transaction that would write it. So an engine that was stopped and wakes up, or
// that has not noticed its successor, can record nothing, and what it left behind stays as the successor found it.
//
// An engine that is at work answers requests, so that a successor can wait for the calls that are in flight. An engine that died answers
// nothing: Attend tells that at once, where the database can.
type Shards interface {
	// Holding says who holds a shard; it is zero if nobody ever has.
	Holding(ctx context.Context, shard int) (Holding, error)
	// Take begins the next epoch of a shard. It fails with ErrFenced if the shard's epoch is no longer the one that the caller has seen.
	Take(ctx context.Context, shard int, seen int64, holder string, at time.Time) (Fence, error)
	// Ask puts a request to the holder of an epoch, in place of an older one.
	Ask(ctx context.Context, epoch Fence, request Request) error
	// Answer says that the holder has seen a request.
	Answer(ctx context.Context, own Fence, request string) error
	// Release says that the holder will append no more.
	Release(ctx context.Context, own Fence) error
	// Attend says that this process lives, until leave is called or the process ends, however it ends. It fails with ErrAttended if
	// another one does, and with ErrUnsupported where the database cannot tell.
	Attend(ctx context.Context, shard int) (leave func() error, err error)
}

// Fence is an epoch of a shard. Its zero value is none, for tests and tools that write beside an engine.
type Fence struct {
	Shard int
	Epoch int64
}

// Holding is who holds a shard.
type Holding struct {
	Epoch  int64
	Holder string
	// Released says that the holder appends no more.
	Released bool
	// Request is the newest request to the holder, and Answered the newest that it has seen.
	Request  Request
	Answered string
}

// Request is what an engine asks of the one that holds a shard.
type Request struct {
	ID string
	// HandOver asks the holder to let its calls finish, to begin no others and to release the shard; otherwise the question is only
	// whether it lives.
	HandOver bool
}

// The errors of Shards that callers tell apart with errors.Is.
var (
	// ErrAttended: another process lives that attends to the shard.
	ErrAttended = errors.New("another process attends to the shard")
	// ErrUnsupported: the database has no way to do it.
	ErrUnsupported = errors.New("not supported by the database")
	// ErrFenced: another writer has taken the shard. The writer must stop.
	ErrFenced = errors.New("another operator has taken over")
)

// FencedError is the ErrFenced of an append.
type FencedError struct{ Fence Fence }

// Error implements error.
func (e *FencedError) Error() string {
	return fmt.Sprintf("append in epoch %d of shard %d: %v", e.Fence.Epoch, e.Fence.Shard, ErrFenced)
}

// Is makes it an ErrFenced.
func (e *FencedError) Is(target error) bool { return target == ErrFenced }
