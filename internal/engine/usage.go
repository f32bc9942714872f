// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/tokens"
)

// maxUsageRatio is the factor by which a provider's count may exceed the estimate before it is ignored, unless it fits into the
// model's context. The estimate is calibrated to 0.9 times the count of common tokenizers, and no tokenizer in use counts four
// times as many.
const maxUsageRatio = 4

// promptTokens returns the prompt part of a reservation: the core's estimate.
func promptTokens(reserved agent.Amount, maxOutput int64) int64 {
	return max(0, reserved.Tokens-maxOutput)
}

// callUsage returns the usage of a call, with its cost if that is known. If the provider reports no usage, the estimate counts, so
// that budgets hold; the cost is unknown then.
func callUsage(req model.Request, reply model.Reply, e agent.CallModel, prices model.Prices) (*model.Usage, agent.Usage) {
	prompt, completion := promptTokens(e.Reserve, req.MaxOutputTokens), replyTokens(reply)
	if reply.Usage == nil {
		return nil, agent.Usage{PromptTokens: prompt, CompletionTokens: completion, ModelCalls: 1}
	}
	said := *reply.Usage
	context := prices.ContextTokens(req.Model)
	said.PromptTokens = min(said.PromptTokens, max(context, maxUsageRatio*prompt))
	said.CompletionTokens = min(said.CompletionTokens, max(context, maxUsageRatio*completion, req.MaxOutputTokens))
	said.CachedTokens = min(said.CachedTokens, said.PromptTokens)
	said.ReasoningTokens = min(said.ReasoningTokens, said.CompletionTokens)
	said.TotalTokens = said.PromptTokens + said.CompletionTokens
	return &said, agent.Usage{PromptTokens: said.PromptTokens, CompletionTokens: said.CompletionTokens, ModelCalls: 1, CostMicros: prices.Cost(req.Model, &said)}
}

// replyTokens estimates the tokens of a reply.
func replyTokens(reply model.Reply) int64 {
	sum := 1 + tokens.Of(reply.Text) + tokens.Of(reply.Reasoning) + tokens.Of(reply.Refusal)
	for _, c := range reply.ToolCalls {
		sum += tokens.PerCall + tokens.Of(c.Name) + tokens.Of(c.Arguments)
	}
	return sum
}
