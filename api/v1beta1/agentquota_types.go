// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// QuotaPeriod is the calendar period, in UTC, after which a quota resets.
// +kubebuilder:validation:Enum=Hour;Day;Month
type QuotaPeriod string

// The periods of a quota.
const (
	QuotaHour  QuotaPeriod = "Hour"
	QuotaDay   QuotaPeriod = "Day"
	QuotaMonth QuotaPeriod = "Month"
)

// AgentQuotaSpec limits the usage of the agents of a namespace.
// +kubebuilder:validation:XValidation:rule="has(self.maxTokens) || has(self.maxCostMicros) || has(self.maxActiveAgents)",message="set at least one of maxTokens, maxCostMicros and maxActiveAgents: a quota without a limit limits nothing"
type AgentQuotaSpec struct {
	// period is the calendar period in UTC to which maxTokens and maxCostMicros apply: Hour, Day or Month.
	// +required
	Period QuotaPeriod `json:"period"`
	// maxTokens is the maximum number of tokens that the model calls of the namespace may use in a period. If absent,
	// there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000000
	MaxTokens *int64 `json:"maxTokens,omitempty"`
	// maxCostMicros is how much the model calls of the namespace may cost in a period, in millionths of the currency of
	// the period's first call; every model that is used needs a price in that currency. If absent, there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000000
	MaxCostMicros *int64 `json:"maxCostMicros,omitempty"`
	// maxActiveAgents is the maximum number of sub-agents of the namespace that may be Active at the same time, regardless
	// of the period; those that wait for a person or for other agents do not count. If absent, there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxActiveAgents *int32 `json:"maxActiveAgents,omitempty"`
}

// QuotaAmount is an amount of tokens and money.
type QuotaAmount struct {
	// tokens is a number of tokens. It is absent if the quota does not limit tokens.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Tokens *int64 `json:"tokens,omitempty"`
	// costMicros is an amount of money in millionths of the currency. It is absent if the quota does not limit cost, or if
	// calls of the period have prices in different currencies.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CostMicros *int64 `json:"costMicros,omitempty"`
	// currency is the currency of costMicros: that of the first call of the period that costs something.
	// +optional
	// +kubebuilder:validation:MaxLength=3
	// +kubebuilder:validation:Pattern="^[A-Z]{3}$"
	Currency string `json:"currency,omitempty"`
}

// AgentQuotaStatus is the observed usage of a quota.
type AgentQuotaStatus struct {
	// observedGeneration is the generation of the spec that is in effect; -1 until the operator has checked the object.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// used is the usage of the finished model calls of the namespace in this period.
	// +optional
	Used QuotaAmount `json:"used,omitzero"`
	// remaining is the amount that further model calls may reserve in this period: the limit minus the usage, minus the
	// reservations of calls in flight.
	// +optional
	Remaining QuotaAmount `json:"remaining,omitzero"`
	// activeAgents is the number of Active sub-agents of the namespace.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ActiveAgents int32 `json:"activeAgents,omitempty"`
	// resetTime is the time when this period ends and the quota resets.
	// +optional
	ResetTime *metav1.Time `json:"resetTime,omitempty"`
	// conditions contains Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AgentQuota limits the usage of the agents of its namespace in an hour, a day or a month; runs that reach it wait
// and do not fail. A namespace may have several quotas, and all of them apply.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=aquota,categories=nestor
// +kubebuilder:printcolumn:name="Period",type=string,JSONPath=`.spec.period`
// +kubebuilder:printcolumn:name="Tokens",type=integer,JSONPath=`.status.used.tokens`
// +kubebuilder:printcolumn:name="Max tokens",type=integer,JSONPath=`.spec.maxTokens`
// +kubebuilder:printcolumn:name="Cost micros",type=integer,JSONPath=`.status.used.costMicros`,priority=1
// +kubebuilder:printcolumn:name="Max cost micros",type=integer,JSONPath=`.spec.maxCostMicros`,priority=1
// +kubebuilder:printcolumn:name="Currency",type=string,JSONPath=`.status.used.currency`,priority=1
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.activeAgents`,priority=1
// +kubebuilder:printcolumn:name="Max active",type=integer,JSONPath=`.spec.maxActiveAgents`,priority=1
// +kubebuilder:printcolumn:name="Resets",type=string,JSONPath=`.status.resetTime`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="metadata.name must have at most 63 characters and no dots, so that other objects can refer to it"
type AgentQuota struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec limits the usage of the agents of the namespace.
	// +required
	Spec AgentQuotaSpec `json:"spec,omitzero"`
	// status is the observed usage.
	// +optional
	// +default={"observedGeneration": -1}
	// +structType=atomic
	Status AgentQuotaStatus `json:"status,omitzero"`
}

// AgentQuotaList is a list of quotas.
//
// +kubebuilder:object:root=true
type AgentQuotaList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []AgentQuota `json:"items"`
}
