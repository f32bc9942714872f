// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// DivideLedger prepares a ledger that an operator with the whole ledger has used, such as one of an earlier release, for operators that
// share it. It asks that operator to hand over, sets the hashes of live trees that have none, and retires the shard of the whole ledger, so
// that no operator can take it again. It returns at once if that was done before.
func (r *Router) DivideLedger(ctx context.Context, hashOf func(ctx context.Context, root ledger.Agent) (int, error)) error {
	e := newEngine(r.shared, WholeLedger())
	defer e.cancel()
	err := e.Acquire(ctx, Claim{HandOver: true})
	if errors.Is(err, ledger.ErrRetired) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take over from the operator with the whole ledger: %w", err)
	}
	defer func() { _ = e.ownership.releaseLock() }()
	fence, _ := e.ownership.current()
	answering, stop := context.WithCancel(ctx)
	defer stop()
	go e.answerRequests(answering, fence)
	if err := e.setHashes(ctx, fence, hashOf); err != nil {
		return errors.Join(err, e.releaseShard(context.WithoutCancel(ctx)))
	}
	if err := e.options.Ledger.Retire(ctx, fence); err != nil {
		return fmt.Errorf("retire the shard of the whole ledger: %w", err)
	}
	return nil
}

// answerRequests shows other operators that this one is running, so that they wait.
func (e *Engine) answerRequests(ctx context.Context, fence ledger.Fence) {
	ticker := time.NewTicker(renewInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_, _ = e.answerRequest(ctx, fence) // a failure makes the others take over, and this operator follows
		}
	}
}

// setHashes sets the hashes of live trees that have none. Parents are listed before their children, so the first agent of a tree is its
// root, unless the root has ended.
func (e *Engine) setHashes(ctx context.Context, fence ledger.Fence, hashOf func(context.Context, ledger.Agent) (int, error)) error {
	done := map[string]bool{}
	return e.eachAgent(ctx, ledger.AgentFilter{Live: true}, func(a ledger.Agent) error {
		if a.ShardHash >= 0 || done[a.Root] {
			return nil
		}
		root := a
		if a.UID != a.Root {
			above, err := e.options.Ledger.Agent(ctx, a.Root)
			switch {
			case err == nil:
				root = above
			case !errors.Is(err, ledger.ErrNotFound):
				return fmt.Errorf("read the root of agent %s: %w", a.UID, err)
			}
		}
		hash, err := hashOf(ctx, root)
		if err != nil {
			return fmt.Errorf("find the shard of tree %s: %w", a.Root, err)
		}
		done[a.Root] = true
		return e.options.Ledger.SetShardHash(ctx, fence, a.Root, hash)
	})
}
