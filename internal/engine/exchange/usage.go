// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/tokens"
)

// maxUsageRatio is the factor by which a provider's count may exceed the estimate before it is ignored, unless it fits into the
// model's context. The estimate is calibrated to 0.9 times the count of common tokenizers, and no tokenizer in use counts four
// times as many.
const maxUsageRatio = 4

// PromptTokens returns the prompt part of a reservation: the core's estimate.
func PromptTokens(reserved budget.Amount, maxOutput int64) int64 {
	return max(0, reserved.Tokens-maxOutput)
}

// Usage returns the usage of a call, with its cost if that is known. If the provider reports no usage, the estimate counts, so
// that budgets hold; the cost is unknown then.
func Usage(req model.Request, reply model.Reply, e agent.CallModel, prices model.Prices) (*model.Usage, budget.Usage) {
	prompt, completion := PromptTokens(e.Reserve, req.MaxOutputTokens), replyTokens(reply)
	if reply.Usage == nil {
		return nil, budget.Usage{PromptTokens: prompt, CompletionTokens: completion, ModelCalls: 1}
	}
	reported := *reply.Usage
	context := prices.ContextTokens(req.Model)
	reported.PromptTokens = min(reported.PromptTokens, max(context, maxUsageRatio*prompt))
	reported.CompletionTokens = min(reported.CompletionTokens, max(context, maxUsageRatio*completion, req.MaxOutputTokens))
	reported.CachedTokens = min(reported.CachedTokens, reported.PromptTokens)
	reported.CacheWriteTokens = min(reported.CacheWriteTokens, reported.PromptTokens-reported.CachedTokens)
	reported.ReasoningTokens = min(reported.ReasoningTokens, reported.CompletionTokens)
	reported.TotalTokens = reported.PromptTokens + reported.CompletionTokens
	used := budget.Usage{PromptTokens: reported.PromptTokens, CompletionTokens: reported.CompletionTokens, ReasoningTokens: reported.ReasoningTokens, ModelCalls: 1}
	price, _ := prices.Of(req.Model)
	if used.CostMicros = price.Cost(&reported); used.CostMicros != nil {
		used.Currency = price.Currency
	}
	return &reported, used
}

// ReceivedTokens returns the estimate for a piece of a reply.
func ReceivedTokens(d model.Delta) int64 {
	sum := tokens.Of(d.Text) + tokens.Of(d.Reasoning) + tokens.Of(d.Refusal)
	if d.ToolCall != nil {
		sum += tokens.Of(d.ToolCall.Name) + tokens.Of(d.ToolCall.Arguments)
	}
	return sum
}

// BrokenOff returns the usage of a call whose reply broke off after some tokens. The provider charges for them, and
// reports its count at the end, or the count of the prompt at the beginning.
func BrokenOff(reported *model.Usage, prompt, received int64) *model.Usage {
	used := model.Usage{PromptTokens: prompt}
	if reported != nil {
		used = *reported
	}
	used.CompletionTokens = max(used.CompletionTokens, received)
	used.TotalTokens = used.PromptTokens + used.CompletionTokens
	return &used
}

func replyTokens(reply model.Reply) int64 {
	sum := 1 + tokens.Of(reply.Text) + tokens.Of(reply.Reasoning) + tokens.Of(reply.Refusal)
	for _, c := range reply.ToolCalls {
		sum += tokens.PerCall + tokens.Of(c.Name) + tokens.Of(c.Arguments)
	}
	return sum
}
