// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package anthropic calls models over the Messages API of Anthropic.
//
// Requests mark where the provider's cache of prompts may end: after the tools, after the system prompt, and after the
// newest turns. Thinking blocks are returned in [model.Reply.ReasoningItems] and are sent back as they came, because
// the API verifies their signatures in tool loops.
package anthropic
