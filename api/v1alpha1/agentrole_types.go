// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AgentRoleSpec says who an agent is. A changed role affects agents that start afterwards.
// +kubebuilder:validation:XValidation:rule="!(has(self.systemPrompt) && has(self.systemPromptFrom))",message="set only one of systemPrompt and systemPromptFrom"
type AgentRoleSpec struct {
	// displayName is the name that people see. Absent: the role's name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	DisplayName string `json:"displayName,omitempty"`
	// description says what the role is good at; agents that may delegate to it read this.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// icon is an emoji or the name of an icon, for user interfaces.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Icon string `json:"icon,omitempty"`
	// modelProvider is the ModelProvider of agents with this role. Absent: that of the agent that
	// asked for them or of the chat, else the one named "default".
	// +optional
	ModelProvider Name `json:"modelProvider,omitempty"`
	// model is the model of agents with this role. Absent: that of the agent that asked for them, if its provider is used too,
	// else the provider's default.
	// +optional
	Model ModelName `json:"model,omitempty"`
	// temperature from "0" to "2". Absent: the model's own default.
	// +optional
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="self.matches('^([01]([.][0-9]{1,3})?|2([.]0{1,3})?)$')",message="must be a number from 0 to 2 in quotes, with at most three decimals, for example \"0.2\""
	Temperature string `json:"temperature,omitempty"`
	// maxOutputTokens is the longest answer that one model call may give. Absent: 4096.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxOutputTokens int32 `json:"maxOutputTokens,omitempty"`
	// systemPrompt says to the model who it is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	SystemPrompt string `json:"systemPrompt,omitempty"`
	// systemPromptFrom takes the prompt from elsewhere.
	// +optional
	SystemPromptFrom *PromptSource `json:"systemPromptFrom,omitempty"`
	// tools says which tools the agent has besides its control tools. Absent: the built-in tools.
	// +optional
	Tools *ToolPolicy `json:"tools,omitempty"`
	// approval says which tool calls need a person's decision. Absent: every tool that is not marked read-only.
	// +optional
	Approval *ApprovalPolicy `json:"approval,omitempty"`
	// delegation says to whom the agent may delegate. Absent: to nobody.
	// +optional
	Delegation *Delegation `json:"delegation,omitempty"`
	// asTool offers the role, to those that may delegate to it, as a tool with its own name and input.
	// +optional
	AsTool *RoleAsTool `json:"asTool,omitempty"`
	// limits bound each agent with this role.
	// +optional
	Limits *RoleLimits `json:"limits,omitempty"`
	// allowedNamespaces says which other namespaces may use the role, if it stands in the operator's own namespace.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// PromptSource is where a prompt comes from.
type PromptSource struct {
	// configMapKeyRef is a key of a ConfigMap in the role's namespace.
	// +required
	ConfigMapKeyRef ConfigMapKeyRef `json:"configMapKeyRef"`
}

// ToolPolicy says which tools an agent has, by the names that the model sees. Control tools are outside of it.
type ToolPolicy struct {
	// allow lists the tools. Absent: the built-in tools; empty: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Allow []ToolGlob `json:"allow,omitzero"`
	// deny takes tools away from what allow gives.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Deny []ToolGlob `json:"deny,omitempty"`
}

// ApprovalMode says which tool calls need a person's decision.
// +kubebuilder:validation:Enum=WriteTools;Always;Never
type ApprovalMode string

// Which tool calls need a person's decision.
const (
	// ApprovalWriteTools: every tool that is not marked read-only.
	ApprovalWriteTools ApprovalMode = "WriteTools"
	// ApprovalAlways: every tool.
	ApprovalAlways ApprovalMode = "Always"
	// ApprovalNever: none but those that approval.tools names.
	ApprovalNever ApprovalMode = "Never"
)

// ApprovalPolicy says which tool calls need a person's decision.
type ApprovalPolicy struct {
	// mode is WriteTools, Always or Never.
	// +optional
	// +default="WriteTools"
	Mode ApprovalMode `json:"mode,omitempty"`
	// tools need approval in every mode.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Tools []ToolGlob `json:"tools,omitempty"`
	// separation refuses a decision by a person who asked for the work: whoever has written a message to the chat, or created the
	// standalone task. While one of them is not known, because a message or the task has no user, nobody can decide.
	// +optional
	Separation bool `json:"separation,omitempty"`
}

// Delegation says to whom an agent may delegate.
type Delegation struct {
	// roles are the AgentRoles that the agent may delegate to. One that does not exist is not offered.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Roles []Name `json:"roles,omitempty"`
}

// RoleAsTool offers a role as a tool.
// +kubebuilder:validation:XValidation:rule="!(self.name in ['delegate_to_agent', 'spawn_agents', 'ask_user', 'submit_result', 'submit_error', 'reply_to_agent', 'continue_agent', 'cancel_task'])",message="name is one of Nestor's own control tools: choose another"
type RoleAsTool struct {
	// name is the tool's name.
	// +required
	Name ToolName `json:"name"`
	// inputSchema is the JSON schema of its input: an object. Absent: one string, task.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=32
	InputSchema *runtime.RawExtension `json:"inputSchema,omitempty"`
}

// RoleLimits bound each agent with a role.
type RoleLimits struct {
	// maxIterations is how many model calls an agent may make. Absent: 20.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxIterations int32 `json:"maxIterations,omitempty"`
	// maxDurationSeconds is how long an agent may take; time spent waiting for a person does not count. Absent: 300.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	MaxDurationSeconds int32 `json:"maxDurationSeconds,omitempty"`
	// maxTotalTokens is how many tokens an agent and everything below it may use. Absent or 0: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxTotalTokens int64 `json:"maxTotalTokens,omitempty"`
	// maxCostMicros is how much an agent and everything below it may cost, in millionths of the currency. Absent or 0:
	// no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxCostMicros int64 `json:"maxCostMicros,omitempty"`
}

// AgentRoleStatus says whether a role can be used.
type AgentRoleStatus struct {
	// conditions has Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AgentRole says who an agent is: its prompt, model, tools, delegation and limits. One with the name of a built-in role
// takes that one's place in its namespace; what it leaves out stays as it is in the built-in role.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=arole,categories=nestor
// +kubebuilder:printcolumn:name="Display name",type=string,JSONPath=`.spec.displayName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.spec.model`
// +kubebuilder:printcolumn:name="Iterations",type=integer,JSONPath=`.spec.limits.maxIterations`
// +kubebuilder:printcolumn:name="Seconds",type=integer,JSONPath=`.spec.limits.maxDurationSeconds`
// +kubebuilder:printcolumn:name="Delegates to",type=string,JSONPath=`.spec.delegation.roles`
// +kubebuilder:printcolumn:name="As tool",type=string,JSONPath=`.spec.asTool.name`,priority=1
// +kubebuilder:printcolumn:name="Approval",type=string,JSONPath=`.spec.approval.mode`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="metadata.name must have at most 63 characters and no dots: it becomes a label of every agent with this role"
// +kubebuilder:validation:XValidation:rule="has(self.spec.systemPrompt) || has(self.spec.systemPromptFrom) || self.metadata.name in ['orchestrator', 'general', 'researcher', 'planner', 'coder', 'tester', 'reviewer', 'debugger', 'code-search', 'code-review']",message="set spec.systemPrompt or spec.systemPromptFrom: only a role with the name of a built-in one may leave them out and keep its prompt"
type AgentRole struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec says who the agent is.
	// +required
	Spec AgentRoleSpec `json:"spec,omitzero"`
	// status says whether the role can be used.
	// +optional
	Status AgentRoleStatus `json:"status,omitzero"`
}

// AgentRoleList is a list of roles.
//
// +kubebuilder:object:root=true
type AgentRoleList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []AgentRole `json:"items"`
}
