// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "slices"

// CalledAt is when the model made a call of the batch; zero if there is no such call.
func (s State) CalledAt(call string) Time {
	i := slices.IndexFunc(s.Batch, func(c Call) bool { return c.ID == call })
	if i < 0 {
		return 0
	}
	return s.Batch[i].At
}
