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
	if s.byBytes {
		return s.promptTokensByBytes(purpose, keep)
	}
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
	summary := tokens.Of(s.Summary)
	if s.byBytes {
		summary = int64(len(s.Summary) / bytesPerToken)
	}
	available := s.Config.Limits.ContextTokens - s.Config.Limits.MaxOutputTokens - tokens.PerPrompt - summary
	return max(available, 1024)
}

// tokensOf estimates the tokens of a history in a prompt.
func (s State) tokensOf(h History) int64 {
	if s.byBytes {
		return h.byBytes()
	}
	return h.Tokens()
}

// bytesPerToken is the estimate of earlier releases. Their logs must be replayed with it: another one could lead to a
// different model call than the one whose reply comes next in the log.

const bytesPerToken = 4

// Estimate identifies the token estimator of the program that recorded an event.
type Estimate int

const (
	// EstimatePieces is the estimator of internal/tokens.
	EstimatePieces Estimate = 0
	// EstimateBytes estimates one token for four bytes.
	EstimateBytes Estimate = 1
)

func (m Message) tokensByBytes() int64 {
	size := len(m.Text)
	for _, call := range m.Calls {
		size += len(call.ID) + len(call.Tool) + len(call.Arguments)
	}
	return int64(size)/bytesPerToken + 4
}

func (s State) promptTokensByBytes(purpose Purpose, keep int) int64 {
	if purpose == PurposeCompact {
		return min(s.History.without(keep).byBytes(), s.compactionTokens()) + int64(len(s.Summary)/bytesPerToken) + tokens.PerPrompt
	}
	f := s.promptFrame()
	sum := s.History.byBytes() + int64(len(s.Summary)+len(f.system))/bytesPerToken + tokens.PerPrompt
	if purpose == PurposeTurn {
		size := 0
		for _, t := range f.tools {
			size += len(t.Name) + len(t.Description) + len(t.Parameters)
		}
		sum += int64(size / bytesPerToken)
	}
	return sum
}
