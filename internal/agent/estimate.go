// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/nestor-dev/nestor/internal/tokens"

// tokens estimates the tokens of the message in a prompt. Providers count differently; if a prompt is too long after all, the
// call fails with ContextTooLong and the history is compacted.
func (m Message) tokens() int64 {
	sum := tokens.PerMessage + tokens.Of(m.Text) + tokens.PerImage*int64(len(m.Images))
	for _, call := range m.Calls {
		sum += tokens.PerCall + tokens.Of(call.ID) + tokens.Of(call.Tool) + tokens.Of(call.Arguments)
	}
	for _, item := range m.ReasoningItems {
		sum += tokens.Of(item.Data)
	}
	return sum
}

// promptTokens estimates the prompt of a model call.
func (s State) promptTokens(purpose Purpose, keep int) int64 {
	if purpose == PurposeContext {
		before, messages := s.unsummarised()
		return tokens.Of(before) + tokens.PerPrompt + min(NewHistory(messages...).Tokens(), s.compactionTokens())
	}
	sum := tokens.Of(s.Summary) + tokens.PerPrompt
	if purpose == PurposeCompact {
		return sum + min(s.History.without(keep).Tokens(), s.compactionTokens())
	}
	f := s.promptFrame()
	sum += s.History.Tokens() + f.systemTokens
	if purpose == PurposeTurn {
		sum += f.toolTokens
	}
	return sum
}

// compactionTokens returns how many tokens of old messages fit into a compaction call.
func (s State) compactionTokens() int64 {
	available := s.Config.Limits.ContextTokens - s.Config.Limits.MaxOutputTokens - tokens.PerPrompt - tokens.Of(s.Summary)
	return max(available, 1024)
}
