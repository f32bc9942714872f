// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The aliases below define bounds that many fields share. They are aliases, not types, so that Go code needs no
// conversions.

// Name is the name of another Nestor object in the same namespace, or of a shared role, provider or tool server.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="must be a name: lowercase letters, digits and '-', beginning and ending with a letter or digit"
type Name = string

// MessageName is the name of an AgentMessage in the same namespace.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be a name: lowercase letters, digits, '-' and '.', beginning and ending with a letter or digit"
type MessageName = string

// ObjectName is the name of a Secret, ConfigMap or PersistentVolumeClaim.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be a name: lowercase letters, digits, '-' and '.', beginning and ending with a letter or digit"
type ObjectName = string

// DataKey is a key inside a Secret or ConfigMap.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key of a Secret or ConfigMap: letters, digits, '-', '_' and '.'"
type DataKey = string

// UserName is the name of a user in the API server's authentication.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
type UserName = string

// ModelName is the name of a model at its provider.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
type ModelName = string

// ToolName is the name of a tool, as the model sees it.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9_-]+$')",message="must be a tool's name as the model sees it: letters, digits, '_' and '-', for example read or github__create_issue"
type ToolName = string

// ToolGlob is the name of a tool as the model sees it, or a pattern with * and ? that matches several tools.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9_*?-]+$')",message="must be a tool's name or a pattern: letters, digits, '_', '-', '*' and '?', for example github__*"
type ToolGlob = string

// ToolCallID is the id of one tool call, as assigned by the model.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
type ToolCallID = string

// ArgumentsDigest identifies a tool call by its content: the SHA-256 of the tool's name, a line feed and the exact
// bytes of the arguments, in lower-case hex.
// +kubebuilder:validation:MinLength=64
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{64}$')",message="must be a SHA-256 in lower-case hex: copy it from status.waiting of the chat or task, or leave it out"
type ArgumentsDigest = string

// FilePath is a path relative to the root of the workspace.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(part, part == '..')",message="must be a path inside the workspace: relative, without '..'"
type FilePath = string

// ReportedPath is a path that an agent reports as changed or created.
// +kubebuilder:validation:MaxLength=256
type ReportedPath = string

// Remark is one warning or suggestion of an agent.
// +kubebuilder:validation:MaxLength=256
type Remark = string

// ContextMode is the part of its parent's context that a sub-agent is shown.
// +kubebuilder:validation:Enum=None;Summary;Full;Selective
type ContextMode string

// The context modes.
const (
	// ContextNone: the sub-agent is shown only its instruction.
	ContextNone ContextMode = "None"
	// ContextSummary: it is also shown a summary of its parent's conversation.
	ContextSummary ContextMode = "Summary"
	// ContextFull: it is also shown that conversation, without the oldest part if it is too long for the model.
	ContextFull ContextMode = "Full"
	// ContextSelective: it is also shown the contents of its context files.
	ContextSelective ContextMode = "Selective"
)

// RunError describes why a run ended without success.
type RunError struct {
	// kind is the class of the error, for programs.
	// +required
	Kind ErrorKind `json:"kind"`
	// message describes the error for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// Usage is the usage of model calls.
type Usage struct {
	// promptTokens is the number of tokens sent to models.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PromptTokens int64 `json:"promptTokens,omitempty"`
	// completionTokens is the number of tokens in the replies of models.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CompletionTokens int64 `json:"completionTokens,omitempty"`
	// totalTokens is the sum of both.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalTokens int64 `json:"totalTokens,omitempty"`
	// modelCalls is the number of model calls that got a reply.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ModelCalls int64 `json:"modelCalls,omitempty"`
	// costMicros is the price of all calls in millionths of the currency. It is absent if the price of any call is
	// unknown, or if calls were priced in different currencies.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CostMicros *int64 `json:"costMicros,omitempty"`
	// currency is the currency of costMicros, from the ModelProvider.
	// +optional
	// +kubebuilder:validation:MaxLength=3
	// +kubebuilder:validation:Pattern="^[A-Z]{3}$"
	Currency string `json:"currency,omitempty"`
}

// WaitingKind is what a run waits for.
// +kubebuilder:validation:Enum=Question;Approval
type WaitingKind string

// What a run waits for.
const (
	// WaitingQuestion: an agent asked a question.
	WaitingQuestion WaitingKind = "Question"
	// WaitingApproval: a tool call needs a person's decision.
	WaitingApproval WaitingKind = "Approval"
)

// Waiting describes a question or an approval that waits for a person.
type Waiting struct {
	// kind is Question or Approval.
	// +required
	Kind WaitingKind `json:"kind"`
	// subAgent is the SubAgent that waits: that of the task, or one below a standalone task. It is absent for a task of
	// type Tool.
	// +optional
	SubAgent Name `json:"subAgent,omitempty"`
	// text is the question, or the tool and its arguments, shortened.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Text string `json:"text,omitempty"`
	// tool is the tool of the call that needs approval.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Tool string `json:"tool,omitempty"`
	// arguments are the arguments of the call that needs approval. They have at most 256 bytes of JSON.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=64
	Arguments *runtime.RawExtension `json:"arguments,omitempty"`
	// argumentsOmitted is true if the arguments are too large or not a valid object; the agent's Transcript has them.
	// +optional
	ArgumentsOmitted bool `json:"argumentsOmitted,omitempty"`
	// toolCall is the id of the call that needs approval. It is absent for a task of type Tool, which is a single call.
	// +optional
	ToolCall ToolCallID `json:"toolCall,omitempty"`
	// argumentsDigest is the digest of the whole call that needs approval. A decision that contains it applies only
	// to exactly this call.
	// +optional
	ArgumentsDigest ArgumentsDigest `json:"argumentsDigest,omitempty"`
	// denyRequesters is true if the role of the call, or a rule of a ToolPolicy, does not allow the requesters of the work
	// to decide.
	// +optional
	DenyRequesters bool `json:"denyRequesters,omitempty"`
	// editable is true if the call can be approved with changed arguments.
	// +optional
	Editable bool `json:"editable,omitempty"`

	PolicyReasons `json:",inline"`
	// startTime is the time when the wait started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// expireTime is until when people can decide; absent without a limit.
	// +optional
	ExpireTime *metav1.Time `json:"expireTime,omitempty"`
}

// PolicyReasons are why ToolPolicies require the approval of a call, as far as the person who decides is shown them.
type PolicyReasons struct {
	// policyRules are rules of ToolPolicies that require the approval. A decision counts for these rules only.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	PolicyRules []WaitingRule `json:"policyRules,omitempty"`
	// policyRulesOmitted is the number of further rules that require an approval. The call waits again for them.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PolicyRulesOmitted int32 `json:"policyRulesOmitted,omitempty"`
	// contentLabels are content labels of the agent when policies judged the call, with their first sources: untrusted and
	// overflow first. The agent's own status has all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	ContentLabels []ReceivedLabel `json:"contentLabels,omitempty"`
	// contentLabelsOmitted is the number of further labels.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ContentLabelsOmitted int32 `json:"contentLabelsOmitted,omitempty"`
}

// WaitingRule is a rule of a ToolPolicy that requires an approval.
type WaitingRule struct {
	// policy is the namespace and name of the ToolPolicy.
	// +required
	// +kubebuilder:validation:MaxLength=127
	// +kubebuilder:validation:Pattern="^[a-z0-9./-]+$"
	Policy string `json:"policy"`
	// rule is the name of the rule.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^[a-z0-9-]+$"
	Rule string `json:"rule"`
	// message explains the rule, shortened.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Message string `json:"message,omitempty"`
}

// TaskResult is the result that a finished run reports to its parent.
type TaskResult struct {
	// summary describes in a sentence or two what was done. For a plain final answer it is that answer.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Summary string `json:"summary,omitempty"`
	// details are the technical specifics.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Details string `json:"details,omitempty"`
	// filesModified are the files that were changed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	FilesModified []ReportedPath `json:"filesModified,omitempty"`
	// filesCreated are the files that were added.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	FilesCreated []ReportedPath `json:"filesCreated,omitempty"`
	// testsRun is the number of tests that were run.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TestsRun *int32 `json:"testsRun,omitempty"`
	// testsPassed is the number of tests that passed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TestsPassed *int32 `json:"testsPassed,omitempty"`
	// warnings are points that the parent should consider.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Warnings []Remark `json:"warnings,omitempty"`
	// suggestions are possible next steps.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Suggestions []Remark `json:"suggestions,omitempty"`
	// data is the structured result of an agent that has an outputSchema, which it matches.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=8192
	Data *runtime.RawExtension `json:"data,omitempty"`
	// dataOmitted is true if the data is left out because its JSON is too large: more than 32 KiB for an AgentTask, or 4
	// KiB for a SubAgent. The history contains it.
	// +optional
	DataOmitted bool `json:"dataOmitted,omitempty"`
}

// SecretKeyRef names a key of a Secret in the namespace of the object that refers to it.
type SecretKeyRef struct {
	// name is the name of the Secret.
	// +required
	Name ObjectName `json:"name"`
	// key is the key inside the Secret.
	// +required
	Key DataKey `json:"key"`
}

// ConfigMapKeyRef names a key of a ConfigMap in the namespace of the object that refers to it.
type ConfigMapKeyRef struct {
	// name is the name of the ConfigMap.
	// +required
	Name ObjectName `json:"name"`
	// key is the key inside the ConfigMap.
	// +required
	Key DataKey `json:"key"`
}

// NamespaceSource selects the namespaces that may use a shared object.
// +kubebuilder:validation:Enum=Same;All;Selector
type NamespaceSource string

// The values of NamespaceSource.
const (
	// NamespacesSame: only the object's own namespace.
	NamespacesSame NamespaceSource = "Same"
	// NamespacesAll: every namespace.
	NamespacesAll NamespaceSource = "All"
	// NamespacesSelector: the namespaces that the selector matches.
	NamespacesSelector NamespaceSource = "Selector"
)

// AllowedNamespaces selects the namespaces that may use an object in the operator's own namespace. It has no effect on
// objects in other namespaces, which are never shared.
// +kubebuilder:validation:XValidation:rule="self.from == 'Selector' ? has(self.selector) : !has(self.selector)",message="set selector if and only if from is Selector"
type AllowedNamespaces struct {
	// from is Same, All or Selector.
	// +optional
	// +default="Same"
	From NamespaceSource `json:"from,omitempty"`
	// selector matches the labels of the namespaces that may use the object.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}
