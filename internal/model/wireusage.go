// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"math"
	"strconv"
)

type wireUsage struct {
	PromptTokens        wireCount `json:"prompt_tokens"`
	CompletionTokens    wireCount `json:"completion_tokens"`
	TotalTokens         wireCount `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens wireCount `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens wireCount `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// PromptCacheHitTokens is another spelling of the cached tokens.
	PromptCacheHitTokens wireCount `json:"prompt_cache_hit_tokens"`
}

// maxCount bounds a count of tokens, so that sums and costs do not overflow. It is far beyond every context; the
// caller, which knows the request, checks what is plausible.
const maxCount = 1 << 40

// wireCount is a count of tokens. Providers and gateways send it as an integer, a fraction or a string. Values above
// maxCount become maxCount; negative values and other text are unknown.
type wireCount struct {
	n     int64
	known bool
}

// UnmarshalJSON never fails, because a bad count must not make the reply unusable.
func (c *wireCount) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(string(bytes.Trim(data, `"`)), 64)
	outOfRange := math.IsInf(n, 1)
	if err != nil && !outOfRange || math.IsNaN(n) || n < 0 {
		*c = wireCount{}
		return nil
	}
	*c = wireCount{n: int64(min(math.Ceil(n), maxCount)), known: true}
	return nil
}

// usage returns nil unless the provider reported both counts.
func (u *wireUsage) usage() *Usage {
	if u == nil || !u.PromptTokens.known || !u.CompletionTokens.known {
		return nil
	}
	out := &Usage{PromptTokens: u.PromptTokens.n, CompletionTokens: u.CompletionTokens.n}
	out.CachedTokens = min(max(u.PromptTokensDetails.CachedTokens.n, u.PromptCacheHitTokens.n), out.PromptTokens)
	out.ReasoningTokens = min(u.CompletionTokensDetails.ReasoningTokens.n, out.CompletionTokens)
	out.TotalTokens = max(u.TotalTokens.n, out.PromptTokens+out.CompletionTokens)
	return out
}
