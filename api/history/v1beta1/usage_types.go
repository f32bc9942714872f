// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TokenUsage is the usage of one model call, or of a run with everything below it.
type TokenUsage struct {
	// promptTokens is the number of tokens sent to the model.
	// +optional
	PromptTokens *int64 `json:"promptTokens,omitempty"`
	// cachedTokens is the number of those tokens that were in the provider's cache.
	// +optional
	CachedTokens *int64 `json:"cachedTokens,omitempty"`
	// completionTokens is the number of tokens in the reply of the model.
	// +optional
	CompletionTokens *int64 `json:"completionTokens,omitempty"`
	// reasoningTokens is the number of the completionTokens that were spent on reasoning, if the provider reports it.
	// +optional
	ReasoningTokens *int64 `json:"reasoningTokens,omitempty"`
	// costMicros is the price in millionths of the currency; absent if it is unknown.
	// +optional
	CostMicros *int64 `json:"costMicros,omitempty"`
	// currency is the currency of costMicros.
	// +optional
	Currency string `json:"currency,omitempty"`
}

// Tally counts runs or model calls by outcome.
type Tally struct {
	// total counts all of them.
	// +required
	Total int64 `json:"total"`
	// live counts those that have not ended.
	// +optional
	Live int64 `json:"live,omitempty"`
	// succeeded counts those that succeeded.
	// +optional
	Succeeded int64 `json:"succeeded,omitempty"`
	// failed counts those that ended without success and were not cancelled.
	// +optional
	Failed int64 `json:"failed,omitempty"`
	// cancelled counts those that were cancelled.
	// +optional
	Cancelled int64 `json:"cancelled,omitempty"`
	// successPercent is the rounded share of those that succeeded among those that succeeded or failed; absent if there is
	// none.
	// +optional
	SuccessPercent *int32 `json:"successPercent,omitempty"`
	// meanDurationMillis is the mean duration of those that have ended, including the time spent waiting.
	// +optional
	MeanDurationMillis *int64 `json:"meanDurationMillis,omitempty"`
	// maxDurationMillis is the longest duration.
	// +optional
	MaxDurationMillis *int64 `json:"maxDurationMillis,omitempty"`
}

// CallUsage is the total usage of model calls. The sums contain only known values; the unknown counters are the numbers
// of calls that are missing from them, so that an unknown price is not mistaken for a price of zero.
type CallUsage struct {
	Tally `json:",inline"`
	// promptTokens is the number of tokens sent to models.
	// +optional
	PromptTokens int64 `json:"promptTokens,omitempty"`
	// cachedTokens is the number of those tokens that were in the caches of providers.
	// +optional
	CachedTokens int64 `json:"cachedTokens,omitempty"`
	// completionTokens is the number of tokens in the replies of models.
	// +optional
	CompletionTokens int64 `json:"completionTokens,omitempty"`
	// reasoningTokens is the number of the completionTokens that were spent on reasoning.
	// +optional
	ReasoningTokens int64 `json:"reasoningTokens,omitempty"`
	// totalTokens is the sum of promptTokens and completionTokens.
	// +optional
	TotalTokens int64 `json:"totalTokens,omitempty"`
	// unknownTokenCalls counts calls that have ended and whose usage the provider did not report.
	// +optional
	UnknownTokenCalls int64 `json:"unknownTokenCalls,omitempty"`
	// costs are the prices, one for each currency; absent if no call has a known price.
	// +optional
	// +listType=map
	// +listMapKey=currency
	Costs []Cost `json:"costs,omitempty"`
	// unknownCostCalls counts calls that have ended and whose price is unknown.
	// +optional
	UnknownCostCalls int64 `json:"unknownCostCalls,omitempty"`
}

// Cost is an amount of money.
type Cost struct {
	// currency is an ISO 4217 code.
	// +optional
	Currency string `json:"currency"`
	// costMicros is the amount in millionths of the currency.
	// +required
	CostMicros int64 `json:"costMicros"`
}

// UsageDimension is the dimension by which usage is summed.
// +enum
type UsageDimension string

// The dimensions by which usage is summed.
const (
	// UsageTotal: a whole namespace.
	UsageTotal UsageDimension = "Total"
	// UsageByChat: each chat; all standalone tasks together have an empty one.
	UsageByChat UsageDimension = "Chat"
	// UsageByRole: each role.
	UsageByRole UsageDimension = "Role"
	// UsageByModel: each model.
	UsageByModel UsageDimension = "Model"
	// UsageByEach: each combination of chat, role and model, for reports. Only the field selector by=Each lists it.
	UsageByEach UsageDimension = "Each"
)

// UsagePeriod is a calendar period in UTC, as in an AgentQuota.
// +enum
type UsagePeriod string

// The periods of usage.
const (
	// UsageHour: hours.
	UsageHour UsagePeriod = "Hour"
	// UsageDay: days.
	UsageDay UsagePeriod = "Day"
	// UsageMonth: months.
	UsageMonth UsagePeriod = "Month"
)

// Usage is the usage of the model calls and runs of a namespace: of all of them (total), of a role (role.NAME), of a
// chat (chat.NAME), of a model (model.NAME) or of a combination (each.CHAT.ROLE.MODEL). With the field selector
// period=Hour, Day or Month, the name begins with the period: 2026-11-17.role.coder.
//
// +kubebuilder:object:root=true
type Usage struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// by is the dimension of the usage.
	// +required
	By UsageDimension `json:"by"`
	// value is the chat, role or model; absent for a total, and for usage without one.
	// +optional
	Value string `json:"value,omitempty"`
	// chat is the chat of a usage by Each; absent for standalone tasks.
	// +optional
	Chat string `json:"chat,omitempty"`
	// role is the role of a usage by Each.
	// +optional
	Role string `json:"role,omitempty"`
	// model is the model of a usage by Each.
	// +optional
	Model string `json:"model,omitempty"`
	// period is the calendar period of the usage. If absent, the usage is that of the times that the list selects, or
	// of all times.
	// +optional
	Period UsagePeriod `json:"period,omitempty"`
	// startTime is the start of the period. Calls count in the period of their start, and runs in that of their creation.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// modelCalls sums the model calls.
	// +required
	ModelCalls CallUsage `json:"modelCalls"`
	// runs counts the agents and tool runs. Chats never end on their own: they count as live.
	// +required
	Runs Tally `json:"runs"`
}

// UsageList is a list of usages: the totals first, then by chat, by role and by model, each in the order of time.
//
// +kubebuilder:object:root=true
type UsageList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Usage `json:"items"`
}
