// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// DivideLedger prepares a ledger that an operator with the whole ledger has used for operators that share it. It asks that operator to hand
// over, and retires the shard of the whole ledger, so that no operator can take it again. It returns at once if that was done before.
func (r *Router) DivideLedger(ctx context.Context) error {
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
	if err := e.options.Ledger.Retire(ctx, fence); err != nil {
		return fmt.Errorf("retire the shard of the whole ledger: %w", err)
	}
	return nil
}
