// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"time"
)

// pruneStep is how many rows Retain deletes in one transaction; it keeps transactions short for other writers.
const pruneStep = 500

// Retain deletes everything of agents that finished before the given time, in many short transactions, and then frees the space.
// It returns the number of deleted rows, also on an error; the next call continues.
func Retain(ctx context.Context, ledger Upkeep, before time.Time) (int64, error) {
	return pruneInSteps(ctx, ledger, before, ledger.Prune)
}

// RetainCalls deletes the bodies of all calls that finished before the given time, in the same way.
func RetainCalls(ctx context.Context, ledger Upkeep, before time.Time) (int64, error) {
	return pruneInSteps(ctx, ledger, before, ledger.PruneCalls)
}

// indexStep is how many events Index indexes in one transaction: dividing texts into words takes longer than deleting rows.
const indexStep = 100

// Index indexes all events that were appended without search, or deletes the index of a ledger without search, in the same way. It
// returns the number of events or entries.
func Index(ctx context.Context, ledger Upkeep) (int64, error) {
	var total int64
	for {
		n, err := ledger.UpdateIndex(ctx, indexStep)
		total += n
		if err != nil {
			return total, fmt.Errorf("update the search index: %w", err)
		}
		if n == 0 {
			return total, nil
		}
	}
}

func pruneInSteps(ctx context.Context, ledger Upkeep, before time.Time, prune func(context.Context, time.Time, int) (int64, error)) (int64, error) {
	var total int64
	for {
		n, err := prune(ctx, before, pruneStep)
		total += n
		if err != nil {
			return total, fmt.Errorf("retain: %w", err)
		}
		if n == 0 {
			break
		}
	}
	if total == 0 {
		return 0, nil
	}
	return total, ledger.Vacuum(ctx)
}
