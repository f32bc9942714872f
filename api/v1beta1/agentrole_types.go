// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AgentRoleSpec defines the agents of a role. A change applies to agents that start afterwards, or with promotion to runs
// that begin after it was promoted.
// +kubebuilder:validation:XValidation:rule="!(has(self.systemPrompt) && has(self.systemPromptFrom))",message="set only one of systemPrompt and systemPromptFrom"
// +kubebuilder:validation:XValidation:rule="!has(self.remote) || !(has(self.systemPrompt) || has(self.systemPromptFrom) || has(self.modelProvider) || has(self.model) || has(self.maxOutputTokens) || has(self.reasoningEffort) || has(self.tools) || has(self.approval) || has(self.delegation) || has(self.outputSchema) || has(self.skills) || has(self.review))",message="a role with remote has no prompt, model, tools, approval, delegation, outputSchema, skills or review: the remote agent has its own"
// +kubebuilder:validation:XValidation:rule="!has(self.remote) || !has(self.limits) || !has(self.limits.maxCostMicros) || self.limits.maxCostMicros == 0",message="a role with remote cannot limit the cost, which is not known here: limit the duration or the tokens",fieldPath=".limits.maxCostMicros"
// +kubebuilder:validation:XValidation:rule="!has(self.isolated) || !self.isolated || !(has(self.tools) || has(self.approval) || has(self.delegation) || has(self.skills) || has(self.review) || has(self.remote))",message="a role with isolated has no tools, approval, delegation, skills, review or remote: nothing but data leaves its agents"
// +kubebuilder:validation:XValidation:rule="!has(self.isolated) || !self.isolated || has(self.outputSchema)",message="a role with isolated needs outputSchema: only data leaves its agents"
type AgentRoleSpec struct {
	// displayName is the name that people see. Defaults to the role's name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	DisplayName string `json:"displayName,omitempty"`
	// description describes what the role is for; agents that may delegate to it read it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// icon is an emoji or the name of an icon, for user interfaces.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Icon string `json:"icon,omitempty"`
	// modelProvider is the ModelProvider of agents with this role. Defaults to that of the parent or of the chat, then to
	// the one named "default".
	// +optional
	ModelProvider Name `json:"modelProvider,omitempty"`
	// model is the model of agents with this role. Defaults to that of the parent if its provider is used too, then to the
	// default model of the provider.
	// +optional
	Model ModelName `json:"model,omitempty"`
	// temperature is the sampling temperature: a number from 0 to 2, which may also be a string. Defaults to that of the
	// model.
	// +optional
	Temperature Temperature `json:"temperature,omitempty"`
	// maxOutputTokens is the maximum length of the reply of one model call. Defaults to 4096.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxOutputTokens int32 `json:"maxOutputTokens,omitempty"`
	// reasoningEffort is how much the model should reason before it answers; it is not sent to models whose entry in
	// the ModelProvider sets supportsReasoning to false. Defaults to that of the model.
	// +optional
	ReasoningEffort ReasoningEffort `json:"reasoningEffort,omitempty"`
	// systemPrompt is the system prompt of the model, with includes at most 65536 characters. When an agent starts,
	// {{ include "NAME/KEY" }} in it is replaced by the text under the key of a ConfigMap in the role's namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	SystemPrompt string `json:"systemPrompt,omitempty"`
	// systemPromptFrom is the source of the prompt, if it is not in systemPrompt. Its text may have includes, too.
	// +optional
	SystemPromptFrom *PromptSource `json:"systemPromptFrom,omitempty"`
	// skills are instructions for certain kinds of work, in the Agent Skills format. The prompt lists their names and
	// descriptions, and the agent reads them with the tool read_skill.
	// +optional
	// +listType=map
	// +listMapKey=configMapName
	// +kubebuilder:validation:MaxItems=16
	Skills []SkillSource `json:"skills,omitempty"`
	// tools lists the tools of the agent besides its control tools. Defaults to the built-in tools.
	// +optional
	Tools *RoleTools `json:"tools,omitempty"`
	// approval configures which tool calls need a person's decision. Defaults to those of all tools that are not marked
	// read-only.
	// +optional
	Approval *ApprovalPolicy `json:"approval,omitempty"`
	// delegation lists the roles that the agent may delegate to. If absent, it may not delegate.
	// +optional
	Delegation *Delegation `json:"delegation,omitempty"`
	// asTool also offers the role as a tool with its own name and input to agents that may delegate to it.
	// +optional
	AsTool *RoleAsTool `json:"asTool,omitempty"`
	// remote is an agent elsewhere that does the work of agents with this role. They have no prompt, model or tools of
	// their own.
	// +optional
	Remote *RemoteAgent `json:"remote,omitempty"`
	// outputSchema is the JSON schema, of type object and at most 16 KiB, of the data that agents with this role
	// submit with their result. Only references within the schema are followed.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	OutputSchema *runtime.RawExtension `json:"outputSchema,omitempty"`
	// review makes an agent with another role judge each result that agents with this role submit. An agent whose result
	// is rejected gets the reasons and continues.
	// +optional
	Review *ResultReview `json:"review,omitempty"`
	// isolated makes agents with this role safe readers of untrusted content: they have no tools, delegate nothing and ask
	// no questions, and only data of the outputSchema leaves them: an object of booleans, enums of short identifiers and
	// bounded integers, with at most 64 bits. To set it, or to change the spec while it is set, a user needs the verb
	// trust on this AgentRole.
	// +optional
	Isolated bool `json:"isolated,omitempty"`
	// limits apply to each agent with this role.
	// +optional
	Limits *RoleLimits `json:"limits,omitempty"`
	// promotion determines when a changed role is used. It is not part of the role's revisions.
	// +optional
	Promotion *RolePromotion `json:"promotion,omitempty"`
	// allowedNamespaces selects the other namespaces that may use the role, if the role is in the operator's own
	// namespace.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// RemoteAgent is an agent elsewhere.
type RemoteAgent struct {
	// a2a is an agent that speaks the A2A protocol.
	// +required
	A2A A2AAgent `json:"a2a"`
	// trusted exempts the remote agent's replies from the content label untrusted. To set it, or to change the spec while
	// it is set, a user needs the verb trust on this AgentRole.
	// +optional
	Trusted bool `json:"trusted,omitempty"`
	// contentLabels are further content labels of the remote agent's replies.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	ContentLabels []ContentLabel `json:"contentLabels,omitempty"`
}

// The rules for url are on the struct: an error contains the value of the field that the rule is on, and the URL may
// contain a password.

// A2AAgent is an agent that speaks A2A 1.0.
// +kubebuilder:validation:XValidation:rule="isURL(self.url) && url(self.url).getScheme() in ['http', 'https'] && size(url(self.url).getHost()) > 0",message="must be an http or https URL, for example https://agents.example.com/weather",fieldPath=".url"
// +kubebuilder:validation:XValidation:rule="!self.url.matches('^https?://[^/?#]*@')",message="must not contain a user or password: put them into a Secret and name it in headersFrom",fieldPath=".url"
type A2AAgent struct {
	// url is the URL below which the agent's card is (/.well-known/agent-card.json), or that of the card itself if it ends
	// with .json. All requests go to the host of this URL.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url"`
	// headersFrom are HTTP headers whose values are in Secrets in this namespace.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	HeadersFrom []HeaderSource `json:"headersFrom,omitempty"`
}

// ReasoningEffort is how much a model should reason before it answers.
// +kubebuilder:validation:Enum=None;Low;Medium;High
type ReasoningEffort string

// The efforts of reasoning.
const (
	// EffortNone: it should not reason.
	EffortNone ReasoningEffort = "None"
	// EffortLow: it should reason briefly.
	EffortLow ReasoningEffort = "Low"
	// EffortMedium: it should reason with moderate effort.
	EffortMedium ReasoningEffort = "Medium"
	// EffortHigh: it should reason thoroughly, which takes more time and tokens.
	EffortHigh ReasoningEffort = "High"
)

// PromptSource is the source of a prompt.
type PromptSource struct {
	// configMapKeyRef is a key of a ConfigMap in the role's namespace.
	// +required
	ConfigMapKeyRef ConfigMapKeyRef `json:"configMapKeyRef"`
}

// SkillSource is the source of a skill.
type SkillSource struct {
	// configMapName is a ConfigMap in the role's namespace, whose key SKILL.md has the instructions, with front
	// matter that contains name and description. Its other keys are the files of the skill, with __ instead of / in
	// their paths.
	// +required
	ConfigMapName ObjectName `json:"configMapName"`
	// trusted exempts the skill from the content label untrusted. To set it, or to change the spec while it is set, a user
	// needs the verb trust on this AgentRole.
	// +optional
	Trusted bool `json:"trusted,omitempty"`
	// contentLabels are further content labels of the skill.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	ContentLabels []ContentLabel `json:"contentLabels,omitempty"`
}

// RoleSkill is a skill of a role, as it was last read.
type RoleSkill struct {
	// name is the name of the skill.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`
	// description describes what the skill is for.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description"`
	// configMapName is the ConfigMap that contains the skill.
	// +required
	ConfigMapName ObjectName `json:"configMapName"`
}

// RoleTools lists the tools of an agent by the names that the model sees. It does not affect control tools.
type RoleTools struct {
	// allow lists the tools. If absent, the agent has the built-in tools; if empty, none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Allow []ToolGlob `json:"allow,omitzero"`
	// deny removes tools from those in allow.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Deny []ToolGlob `json:"deny,omitempty"`
}

// ApprovalMode determines which tool calls need a person's decision.
// +kubebuilder:validation:Enum=WriteTools;Always;Never
type ApprovalMode string

// The approval modes.
const (
	// ApprovalWriteTools: those of every tool that is not marked read-only.
	ApprovalWriteTools ApprovalMode = "WriteTools"
	// ApprovalAlways: those of every tool.
	ApprovalAlways ApprovalMode = "Always"
	// ApprovalNever: only those of the tools in approval.tools.
	ApprovalNever ApprovalMode = "Never"
)

// TimeoutAction determines what happens when no one has decided about a call in time.
// +kubebuilder:validation:Enum=Deny;Fail
type TimeoutAction string

// The values of TimeoutAction.
const (
	// TimeoutDeny: the call is denied, and the agent continues.
	TimeoutDeny TimeoutAction = "Deny"
	// TimeoutFail: the run fails with ApprovalExpired.
	TimeoutFail TimeoutAction = "Fail"
)

// ApprovalPolicy configures which tool calls need a person's decision.
// +kubebuilder:validation:XValidation:rule="!self.?allowServiceAccounts.orValue(false) || self.?denyRequesters.orValue(false)",message="allowServiceAccounts has an effect with denyRequesters only: set denyRequesters, or leave it out"
// +kubebuilder:validation:XValidation:rule="!self.?editable.orValue(false) || !self.?denyRequesters.orValue(false)",message="set only one of editable and denyRequesters: the person who writes the arguments would approve their own work"
// +kubebuilder:validation:XValidation:rule="!has(self.onTimeout) || has(self.timeoutSeconds)",message="onTimeout has an effect with timeoutSeconds only: set timeoutSeconds, or leave it out"
type ApprovalPolicy struct {
	// mode is WriteTools, Always or Never.
	// +optional
	// +default="WriteTools"
	Mode ApprovalMode `json:"mode,omitempty"`
	// tools lists tools that need approval in every mode.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Tools []ToolGlob `json:"tools,omitempty"`
	// denyRequesters rejects the decisions of everyone who requested the work: who wrote a message to the chat, or created
	// the standalone task. If one of them is unknown, because a message or the task has no user, no one can decide.
	// +optional
	DenyRequesters bool `json:"denyRequesters,omitempty"`
	// allowServiceAccounts lets service accounts decide under denyRequesters. By default only people can.
	// +optional
	AllowServiceAccounts bool `json:"allowServiceAccounts,omitempty"`
	// timeoutSeconds is how long people can decide about a call. If absent, calls wait without a limit.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=31536000
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// onTimeout determines what happens after timeoutSeconds: with Deny, which is the default, the call is denied; with
	// Fail, the run fails with ApprovalExpired.
	// +optional
	OnTimeout TimeoutAction `json:"onTimeout,omitempty"`
	// editable lets a person approve a call of a tool with changed arguments. It has no effect on a call for which a ToolPolicy denies
	// requesters.
	// +optional
	Editable bool `json:"editable,omitempty"`
}

// Delegation lists the roles that an agent may delegate to.
type Delegation struct {
	// roles are the AgentRoles that the agent may delegate to. A role that does not exist is not offered.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Roles []Name `json:"roles,omitempty"`
}

// RoleAsTool offers a role as a tool.
// +kubebuilder:validation:XValidation:rule="!(self.name in ['delegate_to_agent', 'spawn_agents', 'ask_user', 'submit_result', 'submit_error', 'reply_to_agent', 'continue_agent', 'cancel_task', 'set_title'])",message="name is one of Nestor's own control tools: choose another"
type RoleAsTool struct {
	// name is the tool's name.
	// +required
	Name ToolName `json:"name"`
	// inputSchema is the JSON schema of its input: an object. Defaults to an object with one string, task.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=32
	InputSchema *runtime.RawExtension `json:"inputSchema,omitempty"`
}

// RejectPolicy determines how an agent ends whose last review is no approval.
// +kubebuilder:validation:Enum=Warn;Fail
type RejectPolicy string

// The reject policies.
const (
	// RejectWarn: it succeeds, with a warning in its result.
	RejectWarn RejectPolicy = "Warn"
	// RejectFail: it fails with ReviewRejected.
	RejectFail RejectPolicy = "Fail"
)

// ResultReview configures the review of results.
type ResultReview struct {
	// role is the AgentRole of the reviewer, which gets the task, its successCriteria and the result, and the same
	// workspace. Its own review is ignored.
	// +required
	Role Name `json:"role"`
	// maxRounds is the maximum number of reviews of a result.
	// +optional
	// +default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	MaxRounds int32 `json:"maxRounds,omitempty"`
	// onReject determines how an agent ends whose last result is rejected or could not be reviewed: Warn, it succeeds with
	// a warning in its result; Fail, it fails with ReviewRejected.
	// +optional
	// +default="Warn"
	OnReject RejectPolicy `json:"onReject,omitempty"`
}

// RoleLimits apply to each agent with a role.
type RoleLimits struct {
	// maxIterations is the maximum number of model calls that an agent may make. Defaults to 20.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxIterations int32 `json:"maxIterations,omitempty"`
	// maxDurationSeconds is how long an agent may take, without the time spent waiting for a person. Defaults to 300.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	MaxDurationSeconds int32 `json:"maxDurationSeconds,omitempty"`
	// maxTotalTokens is the maximum number of tokens that an agent and everything below it may use. If absent or 0, there
	// is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxTotalTokens int64 `json:"maxTotalTokens,omitempty"`
	// maxCostMicros is how much an agent and everything below it may cost, in millionths of the currency. If absent or 0,
	// there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxCostMicros int64 `json:"maxCostMicros,omitempty"`
}

// AgentRoleStatus is the observed state of a role.
type AgentRoleStatus struct {
	// observedGeneration is the generation of the spec that is in effect; -1 until the operator has checked the object.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// skills are the skills of the role, if all of them are valid.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Skills []RoleSkill `json:"skills,omitempty"`
	// currentRevision is the revision of the role as it is written now, with its includes and skills.
	// +optional
	CurrentRevision Revision `json:"currentRevision,omitempty"`
	// promotedRevision is the revision that runs begin with.
	// +optional
	PromotedRevision Revision `json:"promotedRevision,omitempty"`
	// previousRevision is the revision that was promoted before promotedRevision, if the role is gated.
	// +optional
	PreviousRevision Revision `json:"previousRevision,omitempty"`
	// rejectedRevision is the revision that was promoted and current when a user promoted another one.
	// +optional
	RejectedRevision Revision `json:"rejectedRevision,omitempty"`
	// promotionUser is the user who promoted promotedRevision; empty if the operator did, because it is the first one.
	// +optional
	PromotionUser UserName `json:"promotionUser,omitempty"`
	// handledPromotion is the value of the annotation nestor.dev/promote that was handled last.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	HandledPromotion string `json:"handledPromotion,omitempty"`
	// conditions contains Ready and, while a revision waits for its promotion, Reconciling.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AgentRole defines agents: their prompt, model, tools, delegation and limits. A role with the name of a built-in role
// overlays it in its namespace; fields that are not set keep their built-in values.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=arole,categories=nestor
// +kubebuilder:printcolumn:name="Display name",type=string,JSONPath=`.spec.displayName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.spec.model`
// +kubebuilder:printcolumn:name="Iterations",type=integer,JSONPath=`.spec.limits.maxIterations`,priority=1
// +kubebuilder:printcolumn:name="Seconds",type=integer,JSONPath=`.spec.limits.maxDurationSeconds`,priority=1
// +kubebuilder:printcolumn:name="Delegates to",type=string,JSONPath=`.spec.delegation.roles`,priority=1
// +kubebuilder:printcolumn:name="As tool",type=string,JSONPath=`.spec.asTool.name`,priority=1
// +kubebuilder:printcolumn:name="Remote",type=string,JSONPath=`.spec.remote.a2a.url`,priority=1
// +kubebuilder:printcolumn:name="Approval",type=string,JSONPath=`.spec.approval.mode`,priority=1
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.modelProvider`,priority=1
// +kubebuilder:printcolumn:name="Promotion",type=string,JSONPath=`.spec.promotion.mode`,priority=1
// +kubebuilder:printcolumn:name="Promoted",type=string,JSONPath=`.status.promotedRevision`,priority=1
// +kubebuilder:printcolumn:name="Waits",type=string,JSONPath=`.status.conditions[?(@.type=="Reconciling")].reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="metadata.name must have at most 63 characters and no dots: it becomes a label of every agent with this role"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.review) || self.spec.review.role != self.metadata.name",message="a role cannot review its own results: name another role",fieldPath=".spec.review.role"
// +kubebuilder:validation:XValidation:rule="has(self.spec.systemPrompt) || has(self.spec.systemPromptFrom) || has(self.spec.remote) || self.metadata.name in ['orchestrator', 'general', 'researcher', 'planner', 'coder', 'tester', 'reviewer', 'debugger', 'code-search', 'code-review']",message="set spec.systemPrompt, spec.systemPromptFrom or spec.remote: only a role with the name of a built-in one may leave them out and keep its prompt"
type AgentRole struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec defines the agents of the role.
	// +required
	Spec AgentRoleSpec `json:"spec,omitzero"`
	// status is the observed state of the role.
	// +optional
	// +default={"observedGeneration": -1}
	// +structType=atomic
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
