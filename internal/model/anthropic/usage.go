// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// wireUsage is the usage of a reply. The input tokens do not include those that were read from the cache or written to it.
type wireUsage struct {
	InputTokens              wire.Count `json:"input_tokens"`
	CacheCreationInputTokens wire.Count `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     wire.Count `json:"cache_read_input_tokens"`
	OutputTokens             wire.Count `json:"output_tokens"`
	OutputTokensDetails      struct {
		ThinkingTokens wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// merge returns the usage after another report in the same stream. Counts are cumulative, and some gateways report each only once.
func (u *wireUsage) merge(next *wireUsage) *wireUsage {
	if u == nil || next == nil {
		if u == nil {
			return next
		}
		return u
	}
	larger := func(a, b wire.Count) wire.Count { return wire.Count{N: max(a.N, b.N), Known: a.Known || b.Known} }
	merged := &wireUsage{
		InputTokens:              larger(u.InputTokens, next.InputTokens),
		CacheCreationInputTokens: larger(u.CacheCreationInputTokens, next.CacheCreationInputTokens),
		CacheReadInputTokens:     larger(u.CacheReadInputTokens, next.CacheReadInputTokens),
		OutputTokens:             larger(u.OutputTokens, next.OutputTokens),
	}
	merged.OutputTokensDetails.ThinkingTokens = larger(u.OutputTokensDetails.ThinkingTokens, next.OutputTokensDetails.ThinkingTokens)
	return merged
}

// usage returns nil unless the provider reported both counts.
func (u *wireUsage) usage() *model.Usage {
	if u == nil || !u.InputTokens.Known || !u.OutputTokens.Known {
		return nil
	}
	out := &model.Usage{
		CachedTokens: u.CacheReadInputTokens.N, CacheWriteTokens: u.CacheCreationInputTokens.N,
		CompletionTokens: u.OutputTokens.N, ReasoningTokens: min(u.OutputTokensDetails.ThinkingTokens.N, u.OutputTokens.N),
	}
	out.PromptTokens = u.InputTokens.N + out.CachedTokens + out.CacheWriteTokens
	out.TotalTokens = out.PromptTokens + out.CompletionTokens
	return out
}
