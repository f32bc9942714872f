// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// QuotaPeriod is the calendar period, in UTC, after which a quota counts from zero again.
// +kubebuilder:validation:Enum=Hour;Day;Month
type QuotaPeriod string

// The periods of a quota.
const (
	QuotaHour  QuotaPeriod = "Hour"
	QuotaDay   QuotaPeriod = "Day"
	QuotaMonth QuotaPeriod = "Month"
)

// AgentQuotaSpec is how much the agents of a namespace may use.
// +kubebuilder:validation:XValidation:rule="has(self.maxTokens) || has(self.maxCostMicros) || has(self.maxActiveAgents)",message="set at least one of maxTokens, maxCostMicros and maxActiveAgents: a quota without a limit limits nothing"
type AgentQuotaSpec struct {
	// period is the calendar period in UTC in which maxTokens and maxCostMicros hold: Hour, Day or Month.
	// +required
	Period QuotaPeriod `json:"period"`
	// maxTokens is how many tokens the model calls of the namespace may use in a period. Absent: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000000
	MaxTokens *int64 `json:"maxTokens,omitempty"`
	// maxCostMicros is how much the model calls of the namespace may cost in a period, in millionths of the currency. When it is set,
	// every model that is used needs a price in its ModelProvider. Absent: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000000
	MaxCostMicros *int64 `json:"maxCostMicros,omitempty"`
	// maxActiveAgents is how many sub-agents of the namespace may be Active at a time, whatever the period. Those that wait for a person
	// or for other agents do not count. Absent: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxActiveAgents *int32 `json:"maxActiveAgents,omitempty"`
}

// QuotaAmount is an amount of tokens and money.
type QuotaAmount struct {
	// tokens is a number of tokens. Absent where the quota does not limit them.
	// +optional
	Tokens *int64 `json:"tokens,omitempty"`
	// costMicros is an amount of money in millionths of the currency. Absent where the quota does not limit it.
	// +optional
	CostMicros *int64 `json:"costMicros,omitempty"`
}

// AgentQuotaStatus is what the namespace has used of a quota.
type AgentQuotaStatus struct {
	// used is what the finished model calls of the namespace have used in this period.
	// +optional
	Used QuotaAmount `json:"used,omitzero"`
	// remaining is what further model calls may reserve in this period: the limit less what is used, and less what calls under way
	// have reserved.
	// +optional
	Remaining QuotaAmount `json:"remaining,omitzero"`
	// activeAgents is how many sub-agents of the namespace are Active.
	// +optional
	ActiveAgents int32 `json:"activeAgents,omitempty"`
	// resetTime is when this period ends and the quota counts from zero again.
	// +optional
	ResetTime *metav1.Time `json:"resetTime,omitempty"`
	// conditions has Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AgentQuota limits what the agents of its namespace use in an hour, a day or a month. Runs that reach it wait; they do not fail. Several
// quotas may stand in a namespace, and all of them hold.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=aquota,categories=nestor
// +kubebuilder:printcolumn:name="Period",type=string,JSONPath=`.spec.period`
// +kubebuilder:printcolumn:name="Tokens",type=integer,JSONPath=`.status.used.tokens`
// +kubebuilder:printcolumn:name="Max tokens",type=integer,JSONPath=`.spec.maxTokens`
// +kubebuilder:printcolumn:name="Cost",type=integer,JSONPath=`.status.used.costMicros`
// +kubebuilder:printcolumn:name="Max cost",type=integer,JSONPath=`.spec.maxCostMicros`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.activeAgents`
// +kubebuilder:printcolumn:name="Max active",type=integer,JSONPath=`.spec.maxActiveAgents`
// +kubebuilder:printcolumn:name="Resets",type=string,JSONPath=`.status.resetTime`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="metadata.name must have at most 63 characters and no dots, so that other objects can refer to it"
type AgentQuota struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is how much the agents of the namespace may use.
	// +required
	Spec AgentQuotaSpec `json:"spec,omitzero"`
	// status is what they have used.
	// +optional
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
