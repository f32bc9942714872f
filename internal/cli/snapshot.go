// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/view"
)

// readSnapshot reads the current state of a scope.
func (s *session) readSnapshot(ctx context.Context, scope follow.Scope) (view.Snapshot, error) {
	return follow.ReadSnapshot(ctx, s.api, scope)
}
