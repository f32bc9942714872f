// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "slices"

// recentSize bounds the ids that are kept. A repeated event comes soon after the first or, after a crash, before anything else.
// The bound is far above what arrives while a cache is stale.
const recentSize = 512

// Recent holds the newest ids, to recognise repeated events and to generate unique ids.
type Recent []string

func (r Recent) has(id string) bool { return slices.Contains(r, id) }

func (r Recent) with(id string) Recent {
	last := r[max(0, len(r)+1-recentSize):]
	return append(slices.Clip(last), id)
}
