// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RuleOutcome determines what happens to a call that a rule does not allow.
// +kubebuilder:validation:Enum=Deny;RequireApproval
type RuleOutcome string

// The outcomes of a rule that does not allow a call.
const (
	// OutcomeDeny: the call is not made, and the agent gets the message.
	OutcomeDeny RuleOutcome = "Deny"
	// OutcomeRequireApproval: the call waits for a person.
	OutcomeRequireApproval RuleOutcome = "RequireApproval"
)

// RuleAllowance determines whether an allowance of a chat may approve a call that a rule sends to a person.
// +kubebuilder:validation:Enum=None;Exact
type RuleAllowance string

// The values of RuleAllowance.
const (
	// AllowanceNone: a person decides about every call.
	AllowanceNone RuleAllowance = "None"
	// AllowanceExact: an allowance approves the same call again.
	AllowanceExact RuleAllowance = "Exact"
)

// PolicyMode determines whether the verdicts of a policy have an effect.
// +kubebuilder:validation:Enum=Enforce;Audit
type PolicyMode string

// The modes of a policy.
const (
	// PolicyEnforce: calls are denied, or wait for a person, according to the rules.
	PolicyEnforce PolicyMode = "Enforce"
	// PolicyAudit: verdicts are recorded and have no effect.
	PolicyAudit PolicyMode = "Audit"
)

// ToolPolicySpec contains the rules and selects the calls that they apply to.
type ToolPolicySpec struct {
	// match selects the calls that the rules apply to. If absent, they apply to all calls.
	// +optional
	Match *PolicyMatch `json:"match,omitempty"`
	// namespaces selects the namespaces to whose agents the policy applies. Only a policy in the operator's own namespace
	// can apply to other namespaces than its own.
	// +optional
	Namespaces *AllowedNamespaces `json:"namespaces,omitempty"`
	// rules must all allow a call. A call that several rules or policies do not allow gets the strictest of their
	// outcomes.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Rules []PolicyRule `json:"rules"`
	// mode is Enforce, or Audit to record verdicts without an effect.
	// +optional
	// +default="Enforce"
	Mode PolicyMode `json:"mode,omitempty"`
}

// PolicyMatch selects calls. A call must match all fields that are set.
type PolicyMatch struct {
	// tools are the names of tools as the model sees them, or patterns. If absent, every call matches, including calls of
	// the agent's own tools such as delegate_to_agent and ask_user.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Tools []ToolGlob `json:"tools,omitempty"`
	// roles are the roles of the agents that make the calls; if absent, calls of every role match. A person's task of type
	// Tool has no role and always matches.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Roles []Name `json:"roles,omitempty"`
}

// PolicyRule is a condition on calls, and what happens to those that do not fulfil it.
// +kubebuilder:validation:XValidation:rule="self.?otherwise.orValue('Deny') == 'RequireApproval' || !self.?denyRequesters.orValue(false) && self.?allowance.orValue('None') == 'None'",message="denyRequesters and allowance are only for rules with otherwise: RequireApproval"
type PolicyRule struct {
	// name identifies the rule in verdicts.
	// +required
	Name Name `json:"name"`
	// allowWhen is a CEL expression that must be true for the call. If it fails, for example because an argument is
	// missing, the call is denied.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	AllowWhen string `json:"allowWhen"`
	// otherwise determines what happens to a call that is not allowed: Deny or RequireApproval.
	// +optional
	// +default="Deny"
	Otherwise RuleOutcome `json:"otherwise,omitempty"`
	// denyRequesters is true if people who requested the work must not approve the call.
	// +optional
	DenyRequesters bool `json:"denyRequesters,omitempty"`
	// allowance is Exact if an allowance of the chat may approve the same call again: equal arguments, under no other
	// content labels than those that the person was shown. With None, allowances do not cover the call.
	// +optional
	// +default="None"
	Allowance RuleAllowance `json:"allowance,omitempty"`
	// message explains the rule to the people who decide and to the agent whose call is denied.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// ToolPolicyStatus reports whether the policy can be evaluated.
type ToolPolicyStatus struct {
	// observedGeneration is the generation of the spec that is in effect; -1 until the operator has checked the object.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions contains Ready, and Stalled if a person must act.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ToolPolicy restricts which calls agents may make, by the arguments of the call, the agent and the content labels of
// its context. It restricts what roles allow and permits nothing itself.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=toolpolicies,shortName=tpol,categories=nestor
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Rules",type=string,JSONPath=`.spec.rules[*].name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="metadata.name must have at most 63 characters and no dots, so that other objects can refer to it"
type ToolPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec contains the rules and selects the calls that they apply to.
	// +required
	Spec ToolPolicySpec `json:"spec,omitzero"`
	// status reports whether the policy can be evaluated.
	// +optional
	// +default={"observedGeneration": -1}
	// +structType=atomic
	Status ToolPolicyStatus `json:"status,omitzero"`
}

// ToolPolicyList is a list of policies.
//
// +kubebuilder:object:root=true
type ToolPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ToolPolicy `json:"items"`
}
