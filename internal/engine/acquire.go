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

// Acquire waits until this engine may append: until the current owner has released the shard, or its row has expired. unavailable is called
// when the ledger begins to fail; it may be nil.
func (e *Engine) Acquire(ctx context.Context, unavailable func()) error {
	reported := false
	for {
		err := e.tryAcquire(ctx)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ledger.ErrOwned), errors.Is(err, ledger.ErrFenced): // another engine was faster
		case !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrNeedsAttention):
			return err
		case !reported:
			reported = true
			e.options.ReportError(fmt.Errorf("acquire the shard: %w", err))
			if unavailable != nil {
				unavailable()
			}
		}
		select {
		case <-time.After(acquireInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryAcquire takes the shard unless a live operator owns it.
func (e *Engine) tryAcquire(ctx context.Context) error {
	owner, err := e.options.Ledger.ReadOwner(ctx, e.shard.ID)
	if err != nil {
		return fmt.Errorf("read the owner of the shard: %w", err)
	}
	if owner.Live && owner.Name != e.options.Name {
		return ledger.ErrOwned
	}
	since := time.Now()
	fence, err := e.options.Ledger.TakeOver(ctx, e.shard.ID, owner.Epoch, e.options.Name, e.options.Now())
	if err != nil {
		return err
	}
	e.ownership.begin(fence, since)
	return nil
}
