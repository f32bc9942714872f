// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

// Limits of chats and standalone trees that do not say otherwise. The API server sets those of a chat; objects from before
// the fields existed lack them.
const (
	DefaultMaxTurnsPerMessage  = 25
	DefaultMaxTasksPerMessage  = 100
	DefaultMaxTokensPerMessage = 2_000_000
	DefaultMaxTasks            = 100
	DefaultMaxTotalTokens      = 2_000_000
)
