// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentchat

import (
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
)

// limitsOf are the limits of an orchestrator: those of its role, with what the chat says of its whole tree.
func limitsOf(spec v1alpha1.ChatLimits, limits agent.Limits) agent.Limits {
	limits.MaxTokens, limits.MaxCostMicros = spec.MaxTotalTokens, spec.MaxCostMicros
	limits.MaxTurnsPerMessage = int(ptr.Deref(spec.MaxTurnsPerMessage, resolve.DefaultMaxTurnsPerMessage))
	limits.MaxTasksPerMessage = int64(ptr.Deref(spec.MaxTasksPerMessage, resolve.DefaultMaxTasksPerMessage))
	limits.MaxTokensPerMessage = ptr.Deref(spec.MaxTokensPerMessage, resolve.DefaultMaxTokensPerMessage)
	return limits
}
