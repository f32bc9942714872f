// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TokenUsage is what one model call used, or a run with everything below it.
type TokenUsage struct {
	// promptTokens is the number of tokens sent to the model.
	// +optional
	PromptTokens *int64 `json:"promptTokens,omitempty"`
	// cachedTokens is how many of them the provider had in its cache.
	// +optional
	CachedTokens *int64 `json:"cachedTokens,omitempty"`
	// completionTokens is the number of tokens that the model answered with.
	// +optional
	CompletionTokens *int64 `json:"completionTokens,omitempty"`
	// costMicros is the price in millionths of the currency; absent when it is unknown.
	// +optional
	CostMicros *int64 `json:"costMicros,omitempty"`
}

// Tally counts runs or model calls and how they ended.
type Tally struct {
	// total counts all of them.
	// +required
	Total int64 `json:"total"`
	// live counts those that have not ended.
	// +optional
	Live int64 `json:"live,omitempty"`
	// succeeded counts those that ended well.
	// +optional
	Succeeded int64 `json:"succeeded,omitempty"`
	// failed counts those that ended in any other way.
	// +optional
	Failed int64 `json:"failed,omitempty"`
	// successPercent is the share of those that have ended that ended well, rounded; absent when none has ended.
	// +optional
	SuccessPercent *int32 `json:"successPercent,omitempty"`
	// meanDurationMillis is how long those that have ended took on average, time spent waiting included.
	// +optional
	MeanDurationMillis *int64 `json:"meanDurationMillis,omitempty"`
	// maxDurationMillis is how long the longest took.
	// +optional
	MaxDurationMillis *int64 `json:"maxDurationMillis,omitempty"`
}

// CallUsage sums model calls. Sums are of what is known; the unknown counters say how many calls they leave out, so that
// nobody takes an unknown price for a free one.
type CallUsage struct {
	Tally `json:",inline"`
	// promptTokens is the number of tokens sent to models.
	// +optional
	PromptTokens int64 `json:"promptTokens,omitempty"`
	// cachedTokens is how many of them providers had in their caches.
	// +optional
	CachedTokens int64 `json:"cachedTokens,omitempty"`
	// completionTokens is the number of tokens that models answered with.
	// +optional
	CompletionTokens int64 `json:"completionTokens,omitempty"`
	// totalTokens is the sum of promptTokens and completionTokens.
	// +optional
	TotalTokens int64 `json:"totalTokens,omitempty"`
	// unknownTokenCalls counts calls that ended and of which the provider did not say what they used.
	// +optional
	UnknownTokenCalls int64 `json:"unknownTokenCalls,omitempty"`
	// costMicros is the price in millionths of the currency; absent when no call has a known one.
	// +optional
	CostMicros *int64 `json:"costMicros,omitempty"`
	// unknownCostCalls counts calls that ended and whose price is unknown.
	// +optional
	UnknownCostCalls int64 `json:"unknownCostCalls,omitempty"`
}

// UsageDimension is what usage is summed for.
// +enum
type UsageDimension string

// What usage is summed for.
const (
	// UsageTotal: a whole namespace.
	UsageTotal UsageDimension = "Total"
	// UsageByChat: each chat; standalone tasks together have an empty one.
	UsageByChat UsageDimension = "Chat"
	// UsageByRole: each role.
	UsageByRole UsageDimension = "Role"
	// UsageByModel: each model.
	UsageByModel UsageDimension = "Model"
)

// Usage is what model calls and runs of a namespace came to: all of them (total), those of a role (role.NAME), of a chat
// (chat.NAME) or with a model (model.NAME, where '_' stands for '/' and '%'). What has no role, chat or model is role-none,
// chat-none and model-none: standalone tasks belong to no chat.
//
// +kubebuilder:object:root=true
type Usage struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// by is what the usage is summed for.
	// +required
	By UsageDimension `json:"by"`
	// value is the chat, role or model; absent for a total, and for what has none.
	// +optional
	Value string `json:"value,omitempty"`
	// modelCalls sums the model calls.
	// +required
	ModelCalls CallUsage `json:"modelCalls"`
	// runs counts the agents and tool runs. Chats never end by themselves: they are among the live.
	// +required
	Runs Tally `json:"runs"`
}

// UsageList is a list of usages: the totals first, then by chat, by role and by model.
//
// +kubebuilder:object:root=true
type UsageList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Usage `json:"items"`
}
