// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"time"
)

// Detached passes the results of calls in flight from the previous owner of a shard to the next one. All times are those of the
// database's clock. Calls that expired a day ago, and those of agents that Prune deletes, are deleted.
type Detached interface {
	// Detach records that calls of a shard continue in this process after it releases the shard; of each call only Key and Agent
	// are used. A call that is already recorded is not changed: another process makes it. Detach fails with ErrFenced if own is
	// not the current epoch.
	Detach(ctx context.Context, own Fence, replica string, calls []DetachedCall, ttl time.Duration) error
	// KeepDetached extends the time of calls that are still in flight in this process, and returns those of the keys that are not: the owner
	// has forgotten or abandoned the call, or it has a result. Other calls are not changed.
	KeepDetached(ctx context.Context, replica string, keys []string, ttl time.Duration) (gone []string, err error)
	// FinishDetached stores the result of a call, also of an expired one. It reports false if the result is not needed: the
	// owner has forgotten the call, or it has another result. It may be repeated after an error.
	FinishDetached(ctx context.Context, key string, result []byte) (bool, error)
	// DetachedCalls returns the detached calls of a shard, sorted by key. SetShardCount moves calls to the new shards of their
	// agents.
	DetachedCalls(ctx context.Context, shard int) ([]DetachedCall, error)
	// AbandonDetached removes a call of the shard that has no result, so that the owner can make it again. It reports false if the
	// call has a result. It fails with ErrFenced if own is not the current epoch.
	AbandonDetached(ctx context.Context, own Fence, key string) (bool, error)
	// ForgetDetached removes calls of the shard whose results are recorded, or that the owner makes again, with any result that
	// arrived since it read them. It fails with ErrFenced if own is not the current epoch.
	ForgetDetached(ctx context.Context, own Fence, keys []string) error
}

// DetachedCall is a call that continues in the process that owned its shard before.
type DetachedCall struct {
	// Key is the key of the call in the ledger, and Agent the UID of its agent.
	Key, Agent string

	// The following fields are set by the ledger.

	// Result is nil until the call has ended.
	Result []byte
	// Expired reports that the call has no result and its process has not extended its time: it ended, or cannot reach the ledger.
	Expired bool
}
