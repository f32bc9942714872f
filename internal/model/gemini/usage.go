// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// wireUsage is the usage of a reply. The candidates' tokens do not include those of thoughts; counts of 0 are omitted.
type wireUsage struct {
	PromptTokenCount        wire.Count `json:"promptTokenCount"`
	ToolUsePromptTokenCount wire.Count `json:"toolUsePromptTokenCount"`
	CachedContentTokenCount wire.Count `json:"cachedContentTokenCount"`
	CandidatesTokenCount    wire.Count `json:"candidatesTokenCount"`
	ThoughtsTokenCount      wire.Count `json:"thoughtsTokenCount"`
	TotalTokenCount         wire.Count `json:"totalTokenCount"`
}

// merge returns the usage after another report in the same stream. Counts are cumulative.
func (u *wireUsage) merge(next *wireUsage) *wireUsage {
	if u == nil || next == nil {
		return cmp.Or(u, next)
	}
	return &wireUsage{
		PromptTokenCount:        u.PromptTokenCount.Max(next.PromptTokenCount),
		ToolUsePromptTokenCount: u.ToolUsePromptTokenCount.Max(next.ToolUsePromptTokenCount),
		CachedContentTokenCount: u.CachedContentTokenCount.Max(next.CachedContentTokenCount),
		CandidatesTokenCount:    u.CandidatesTokenCount.Max(next.CandidatesTokenCount),
		ThoughtsTokenCount:      u.ThoughtsTokenCount.Max(next.ThoughtsTokenCount),
		TotalTokenCount:         u.TotalTokenCount.Max(next.TotalTokenCount),
	}
}

// usage returns nil unless the provider reported the prompt and the output, or the total.
func (u *wireUsage) usage() *model.Usage {
	if u == nil || !u.PromptTokenCount.Known || !u.CandidatesTokenCount.Known && !u.ThoughtsTokenCount.Known && !u.TotalTokenCount.Known {
		return nil
	}
	out := &model.Usage{
		PromptTokens:     u.PromptTokenCount.N + u.ToolUsePromptTokenCount.N,
		CompletionTokens: u.CandidatesTokenCount.N + u.ThoughtsTokenCount.N,
		ReasoningTokens:  u.ThoughtsTokenCount.N,
	}
	out.CachedTokens = min(u.CachedContentTokenCount.N, out.PromptTokens)
	if !u.CandidatesTokenCount.Known {
		out.CompletionTokens = max(out.CompletionTokens, u.TotalTokenCount.N-out.PromptTokens)
	}
	out.TotalTokens = max(u.TotalTokenCount.N, out.PromptTokens+out.CompletionTokens)
	return out
}
