// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// wireUsage is the usage of a reply. The input tokens do not include those that were read from the cache or written to
// it.
type wireUsage struct {
	InputTokens              wire.Count `json:"input_tokens"`
	CacheCreationInputTokens wire.Count `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     wire.Count `json:"cache_read_input_tokens"`
	OutputTokens             wire.Count `json:"output_tokens"`
	OutputTokensDetails      struct {
		ThinkingTokens wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// merge returns the usage after another report in the same stream. Counts are cumulative, and some gateways report each
// only once.
func (u *wireUsage) merge(next *wireUsage) *wireUsage {
	if u == nil || next == nil {
		return cmp.Or(u, next)
	}
	merged := &wireUsage{
		InputTokens:              u.InputTokens.Max(next.InputTokens),
		CacheCreationInputTokens: u.CacheCreationInputTokens.Max(next.CacheCreationInputTokens),
		CacheReadInputTokens:     u.CacheReadInputTokens.Max(next.CacheReadInputTokens),
		OutputTokens:             u.OutputTokens.Max(next.OutputTokens),
	}
	merged.OutputTokensDetails.ThinkingTokens = u.OutputTokensDetails.ThinkingTokens.Max(next.OutputTokensDetails.ThinkingTokens)
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
