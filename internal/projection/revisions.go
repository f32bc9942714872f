// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"maps"
	"slices"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// pinnedRevisions returns the revisions of gated roles that the tree of an agent has pinned.
func pinnedRevisions(c agent.Config) []v1beta1.RoleRevision {
	var pins []v1beta1.RoleRevision
	for _, name := range slices.Sorted(maps.Keys(c.Revisions)) {
		if len(pins) < maxPinnedRevisions {
			pins = append(pins, v1beta1.RoleRevision{Role: name, Revision: c.Revisions[name]})
		}
	}
	return pins
}
