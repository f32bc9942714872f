// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/nestor-dev/nestor/internal/client/live"
)

// readSnapshot reads the current state of a scope.
func (s *session) readSnapshot(ctx context.Context, scope live.Scope) (live.Snapshot, error) {
	return live.ReadSnapshot(ctx, s.api, scope)
}
