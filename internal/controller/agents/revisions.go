// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
)

// pinnedRevisions returns the revisions of gated roles that the parent of an agent has pinned, by the names of the
// roles.
func (r *Reconciler) pinnedRevisions(ctx context.Context, lineage cluster.Lineage) (map[string]string, error) {
	if lineage.Parent == nil {
		return forkRevisions(lineage.Root), nil
	}
	parent, _, err := r.Runner.State(ctx, string(lineage.Parent.GetUID()))
	return parent.LatestConfig().Revisions, err
}

// forkRevisions returns the revision that an evaluation has pinned for the fork at the root of a tree.
func forkRevisions(root client.Object) map[string]string {
	task, ok := root.(*v1beta1.AgentTask)
	if !ok || task.Spec.Fork == nil || task.Spec.Fork.RoleRevision == "" {
		return nil
	}
	return map[string]string{task.Spec.Role: task.Spec.Fork.RoleRevision}
}
