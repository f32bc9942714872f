// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"slices"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/engine"
)

// ShownFirst moves the ask that a standalone task shows in its status to the front of the asks below it. Agents record their asks
// independently, so that an older one can appear after a younger one; it must not replace what a person is about to answer.
func ShownFirst(asks []engine.Ask, shown *v1alpha1.Waiting) []engine.Ask {
	if shown == nil {
		return asks
	}
	i := slices.IndexFunc(asks, func(a engine.Ask) bool {
		return a.Agent.Name == shown.SubAgent && a.Call == shown.ToolCall
	})
	if i < 0 {
		return asks // it was answered
	}
	return slices.Concat(asks[i:i+1], asks[:i], asks[i+1:])
}
