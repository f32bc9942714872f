// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"

	"github.com/nestor-dev/nestor/internal/cluster"
)

// pinnedRevisions returns the revisions of gated roles that the parent of an agent has pinned, by the names of the roles.
func (r *Reconciler) pinnedRevisions(ctx context.Context, lineage cluster.Lineage) (map[string]string, error) {
	if lineage.Parent == nil {
		return nil, nil
	}
	parent, _, err := r.Runner.State(ctx, string(lineage.Parent.GetUID()))
	return parent.LatestConfig().Revisions, err
}
