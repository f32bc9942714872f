// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "slices"

// recentSize is how many ids are remembered. A repeated event comes soon after the first one or, after a crash, before
// anything else; a memory of this length is longer than any cache is stale.
const recentSize = 512

// Recent remembers the newest ids, so that repeated events are known and new ids are unique.
type Recent []string

func (r Recent) has(id string) bool { return slices.Contains(r, id) }

func (r Recent) with(id string) Recent {
	kept := r[max(0, len(r)+1-recentSize):]
	return append(slices.Clip(kept), id)
}
