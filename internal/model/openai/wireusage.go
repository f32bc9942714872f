// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

type wireUsage struct {
	PromptTokens        wire.Count `json:"prompt_tokens"`
	CompletionTokens    wire.Count `json:"completion_tokens"`
	TotalTokens         wire.Count `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens wire.Count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens wire.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// PromptCacheHitTokens is another spelling of the cached tokens.
	PromptCacheHitTokens wire.Count `json:"prompt_cache_hit_tokens"`
}

// usage returns nil unless the provider reported both counts.
func (u *wireUsage) usage() *model.Usage {
	if u == nil || !u.PromptTokens.Known || !u.CompletionTokens.Known {
		return nil
	}
	out := &model.Usage{PromptTokens: u.PromptTokens.N, CompletionTokens: u.CompletionTokens.N}
	out.CachedTokens = min(max(u.PromptTokensDetails.CachedTokens.N, u.PromptCacheHitTokens.N), out.PromptTokens)
	out.ReasoningTokens = min(u.CompletionTokensDetails.ReasoningTokens.N, out.CompletionTokens)
	out.TotalTokens = max(u.TotalTokens.N, out.PromptTokens+out.CompletionTokens)
	return out
}
