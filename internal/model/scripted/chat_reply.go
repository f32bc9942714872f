// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

type chatUsage struct {
	PromptTokens        int64 `json:"prompt_tokens"`
	CompletionTokens    int64 `json:"completion_tokens"`
	TotalTokens         int64 `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func newChatUsage(u *tokenUsage) *chatUsage {
	if u == nil {
		return nil
	}
	out := &chatUsage{PromptTokens: u.prompt, CompletionTokens: u.completion, TotalTokens: u.prompt + u.completion}
	out.PromptTokensDetails.CachedTokens = u.cached
	out.CompletionTokensDetails.ReasoningTokens = u.reasoning
	return out
}

func newChatCall(call toolCall) chatCall {
	out := chatCall{ID: call.id, Type: "function"}
	out.Function.Name, out.Function.Arguments = call.name, call.arguments
	return out
}

func (r *chatRequest) plain(p *response) any {
	message := map[string]any{"role": "assistant", "content": nil, "refusal": nil}
	if p.text != "" || len(p.calls) == 0 && p.refusal == "" {
		message["content"] = p.text
	}
	if p.reasoning != "" {
		message["reasoning_content"] = p.reasoning
	}
	if p.refusal != "" {
		message["refusal"] = p.refusal
	}
	if len(p.calls) > 0 {
		calls := make([]chatCall, 0, len(p.calls))
		for _, call := range p.calls {
			calls = append(calls, newChatCall(call))
		}
		message["tool_calls"] = calls
	}
	body := map[string]any{
		"id": "chatcmpl-" + p.id, "object": "chat.completion", "created": created, "model": r.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": p.finishReason(), "logprobs": nil}},
	}
	if p.usage != nil {
		body["usage"] = newChatUsage(p.usage)
	}
	return body
}
