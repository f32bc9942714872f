// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SubAgentSpec is the assignment of a sub-agent, with all references resolved when it was created.
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (has(self.instruction) || has(self.arguments) || has(self.continueFrom))",message="a sub-agent needs instruction, arguments or continueFrom",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.depth == 1 ? !has(self.parent) : has(self.parent))",message="a sub-agent of depth 1 has no parent, a deeper one must name its parent",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.depth == 1 || !has(self.limits) || !has(self.limits.maxDepth) || self.depth <= self.limits.maxDepth)",message="depth must not be more than limits.maxDepth: delegate less deeply, or raise limits.maxDepth of the chat",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.?context.orValue('None') != 'Selective' || size(self.?contextFiles.orValue([])) > 0)",message="context Selective shows the agent the files in contextFiles: name at least one",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="!oldSelf.?cancel.orValue(false) || self.?cancel.orValue(false)",message="cancel cannot be reset once it is true: create a new AgentTask, which launches a new sub-agent"
type SubAgentSpec struct {
	// chat is the AgentChat that the agent works for. If absent, it works for a standalone task.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	Chat Name `json:"chat,omitempty"`
	// task is the AgentTask that launched the agent; both have the same name, unless another sub-agent had that name.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	Task Name `json:"task"`
	// parent is the SubAgent that delegated to this one. If absent, the orchestrator or a standalone task did.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	Parent Name `json:"parent,omitempty"`
	// role is the AgentRole of the agent.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	Role Name `json:"role"`
	// depth is 1 under a chat or a standalone task, and one more than its parent's below a sub-agent.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	Depth int32 `json:"depth"`
	// instruction is the work that the agent should do.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	Instruction string `json:"instruction,omitempty"`
	// contentLabels are the content labels of the task. Those of the parent come on top.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	ContentLabels []ContentLabel `json:"contentLabels,omitempty"`
	// arguments are the input of a role that has an inputSchema.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	Arguments *runtime.RawExtension `json:"arguments,omitempty"`
	// contextFiles are the files of the workspace that the agent should read first, as paths from the directory it works
	// in. If context is Selective, the agent receives their contents.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	ContextFiles []FilePath `json:"contextFiles,omitzero"`
	// successCriteria describes when the work is done.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	SuccessCriteria string `json:"successCriteria,omitempty"`
	// outputSchema is the JSON schema of the data that the agent submits with its result, if the task has one. If absent,
	// the one of the role applies.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	OutputSchema *runtime.RawExtension `json:"outputSchema,omitempty"`
	// context is the content that the agent receives in addition to its instruction: None; Summary, a summary of its
	// parent's conversation; Full, that conversation; Selective, the contents of contextFiles. Defaults to None.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	Context ContextMode `json:"context,omitempty"`
	// continueFrom is the finished SubAgent whose history this one continues.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	ContinueFrom Name `json:"continueFrom,omitempty"`
	// workingDir is the directory of the workspace that the agent works in, as a path from the workspace's root. Defaults
	// to the root.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	WorkingDir FilePath `json:"workingDir,omitempty"`
	// modelProvider is the ModelProvider of the agent's model calls, resolved when the agent was created: that of the
	// standalone task, then that of the role, then that of the parent.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	ModelProvider Name `json:"modelProvider,omitempty"`
	// model is the model of these calls, resolved in the same way; if the role or the task sets a provider but no
	// model, it is the default model of that provider. It is absent if the provider did not exist yet.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel can; create a new AgentTask, which launches a new sub-agent"
	Model ModelName `json:"model,omitempty"`
	// limits are those of the role, the task and the chat, resolved when the agent was created.
	// +optional
	Limits AgentLimits `json:"limits,omitzero"`
	// cancel requests that the agent and everything below it stop. Once true, it stays true.
	// +optional
	Cancel bool `json:"cancel,omitempty"`
}

// AgentLimits bound one agent.
type AgentLimits struct {
	// maxIterations is the maximum number of model calls that the agent may make.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxIterations int32 `json:"maxIterations,omitempty"`
	// maxDurationSeconds is how long the agent may take, without the time spent waiting for a person.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	MaxDurationSeconds int32 `json:"maxDurationSeconds,omitempty"`
	// maxDepth is the maximum depth of sub-agents.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	MaxDepth int32 `json:"maxDepth,omitempty"`
	// maxTotalTokens is the maximum number of tokens that the agent and everything below it may use. 0 means no limit of
	// its own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxTotalTokens int64 `json:"maxTotalTokens,omitempty"`
	// maxTasks is the maximum number of tasks that the agent and everything below it may start. 0 means no limit of its
	// own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxTasks int32 `json:"maxTasks,omitempty"`
	// maxCostMicros is how much the agent and everything below it may cost, in millionths of the currency. 0 means no
	// limit of its own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxCostMicros int64 `json:"maxCostMicros,omitempty"`
}

// SubAgentPhase is the phase of an agent, for people.
// +kubebuilder:validation:Enum=Pending;Active;WaitingForUser;WaitingForApproval;WaitingForSubAgents;Cancelling;Completed;Failed;Cancelled
type SubAgentPhase string

// The phases of an agent.
const (
	// SubAgentPending: it has not started; its condition has the reason.
	SubAgentPending SubAgentPhase = "Pending"
	// SubAgentActive: it calls the model or runs tools.
	SubAgentActive SubAgentPhase = "Active"
	// SubAgentWaitingForUser: it asked a question.
	SubAgentWaitingForUser SubAgentPhase = "WaitingForUser"
	// SubAgentWaitingForApproval: some of its tool calls need a person's decision.
	SubAgentWaitingForApproval SubAgentPhase = "WaitingForApproval"
	// SubAgentWaitingForSubAgents: it waits for the agents that it delegated to.
	SubAgentWaitingForSubAgents SubAgentPhase = "WaitingForSubAgents"
	// SubAgentCancelling: it was cancelled and waits until its own sub-agents have stopped.
	SubAgentCancelling SubAgentPhase = "Cancelling"
	// SubAgentCompleted: it ended with a result.
	SubAgentCompleted SubAgentPhase = "Completed"
	// SubAgentFailed: it failed or reached a limit.
	SubAgentFailed SubAgentPhase = "Failed"
	// SubAgentCancelled: it was cancelled.
	SubAgentCancelled SubAgentPhase = "Cancelled"
)

// TranscriptRole is the author of a message in an agent's own history.
// +kubebuilder:validation:Enum=System;User;Assistant;Tool
type TranscriptRole string

// The authors of messages in an agent's own history.
const (
	// TranscriptSystem is the operator.
	TranscriptSystem TranscriptRole = "System"
	// TranscriptUser is the author of the assignment, or the person who answers a question.
	TranscriptUser TranscriptRole = "User"
	// TranscriptAssistant is the model.
	TranscriptAssistant TranscriptRole = "Assistant"
	// TranscriptTool is a tool, with its result.
	TranscriptTool TranscriptRole = "Tool"
)

// TranscriptMessage is one message of an agent's own history, shortened.
type TranscriptMessage struct {
	// seq is the position of the message in the history.
	// +required
	// +kubebuilder:validation:Minimum=0
	Seq int64 `json:"seq"`
	// role is the author of the message.
	// +required
	Role TranscriptRole `json:"role"`
	// content is the text, shortened; the ledger has the whole text.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Content string `json:"content,omitempty"`
	// toolCall is the id of the call that a Tool message answers.
	// +optional
	ToolCall ToolCallID `json:"toolCall,omitempty"`
	// time is the time of the message.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// ToolCallPhase is the phase of a tool call.
// +kubebuilder:validation:Enum=Pending;WaitingForApproval;Running;Success;Failed;Denied;Unknown
type ToolCallPhase string

// The phases of a tool call.
const (
	// ToolCallPending: it has not started.
	ToolCallPending ToolCallPhase = "Pending"
	// ToolCallWaitingForApproval: it needs a person's decision.
	ToolCallWaitingForApproval ToolCallPhase = "WaitingForApproval"
	// ToolCallRunning: it is running.
	ToolCallRunning ToolCallPhase = "Running"
	// ToolCallSuccess: it returned a result.
	ToolCallSuccess ToolCallPhase = "Success"
	// ToolCallFailed: it returned an error.
	ToolCallFailed ToolCallPhase = "Failed"
	// ToolCallDenied: a person denied it.
	ToolCallDenied ToolCallPhase = "Denied"
	// ToolCallUnknown: it was interrupted, and it is unknown whether it took effect.
	ToolCallUnknown ToolCallPhase = "Unknown"
)

// ToolCallStatus is one tool call of an agent, shortened.
type ToolCallStatus struct {
	// id is the id of the call, as assigned by the model. While the call waits for another approval, it is the id of that.
	// +required
	ID ToolCallID `json:"id"`
	// tool is the name of the tool, as used by the model.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Tool string `json:"tool"`
	// arguments are the arguments of the call. They have at most 256 bytes of JSON.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=64
	Arguments *runtime.RawExtension `json:"arguments,omitempty"`
	// argumentsOmitted is true if the arguments are too large or not a valid object; the agent's Transcript has them.
	// +optional
	ArgumentsOmitted bool `json:"argumentsOmitted,omitempty"`
	// argumentsDigest is the digest of the whole call, while it waits for approval.
	// +optional
	ArgumentsDigest ArgumentsDigest `json:"argumentsDigest,omitempty"`

	PolicyReasons `json:",inline"`
	// editable is true if the call waits for approval and can be approved with changed arguments.
	// +optional
	Editable bool `json:"editable,omitempty"`
	// expireTime is until when people can decide about a call that waits for approval; absent without a limit.
	// +optional
	ExpireTime *metav1.Time `json:"expireTime,omitempty"`
	// phase is the phase of the call.
	// +required
	Phase ToolCallPhase `json:"phase"`
	// progress is what the tool reports about a call that runs: "3/10 reading files". It is not part of the history.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Progress string `json:"progress,omitempty"`
	// result is the result of the tool, shortened.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Result string `json:"result,omitempty"`
	// error is the error of the call, shortened.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Error string `json:"error,omitempty"`
	// time is the time when the model requested the call.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// ChildCounts counts the sub-agents that an agent delegated to.
type ChildCounts struct {
	// pending counts the children that have not ended.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pending int32 `json:"pending,omitempty"`
	// finished counts the children that have ended, with or without success.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Finished int32 `json:"finished,omitempty"`
}

// SubAgentStatus is the observed state of an agent: the newest parts of its history, shortened. The whole history is in
// the ledger.
type SubAgentStatus struct {
	// phase is the phase of the agent.
	// +optional
	Phase SubAgentPhase `json:"phase,omitempty"`
	// messages are the newest messages of the agent's history, shortened.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Messages []TranscriptMessage `json:"messages,omitempty"`
	// toolCalls are the newest tool calls of the agent, shortened.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	ToolCalls []ToolCallStatus `json:"toolCalls,omitempty"`
	// children counts the sub-agents that this one delegated to.
	// +optional
	Children ChildCounts `json:"children,omitzero"`
	// summary is the newest summary of a history that was too long for the model.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Summary string `json:"summary,omitempty"`
	// question is the question that the agent waits for an answer to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Question string `json:"question,omitempty"`
	// result is the result of the work; an agent that reached a limit may have a partial one.
	// +optional
	Result *TaskResult `json:"result,omitempty"`
	// error describes why the agent ended without success.
	// +optional
	Error *RunError `json:"error,omitempty"`
	// bailoutReason is the limit that stopped the agent, and its value.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	BailoutReason string `json:"bailoutReason,omitempty"`
	// iterations is the number of model calls.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Iterations int32 `json:"iterations,omitempty"`
	// contentLabels are the content labels of everything that the agent has received, with their first sources.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ContentLabels []ReceivedLabel `json:"contentLabels,omitempty"`
	// roleRevision is the revision of the role that the agent began with.
	// +optional
	RoleRevision Revision `json:"roleRevision,omitempty"`
	// usage is the usage of the agent and its children.
	// +optional
	Usage Usage `json:"usage,omitzero"`
	// startTime is the time when the agent started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is the time when the agent ended, with or without success.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// conditions contains Succeeded and, while a model call waits, Reconciling.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SubAgent is one agent instance with its own history. The operator creates it for an AgentTask.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sagent
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.role`
// +kubebuilder:printcolumn:name="Depth",type=integer,JSONPath=`.spec.depth`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,priority=1
// +kubebuilder:printcolumn:name="Children",type=integer,JSONPath=`.status.children.pending`,priority=1
// +kubebuilder:printcolumn:name="Iterations",type=integer,JSONPath=`.status.iterations`
// +kubebuilder:printcolumn:name="Tokens",type=integer,JSONPath=`.status.usage.totalTokens`
// +kubebuilder:printcolumn:name="Chat",type=string,JSONPath=`.spec.chat`
// +kubebuilder:printcolumn:name="Parent",type=string,JSONPath=`.spec.parent`,priority=1
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.spec.model`,priority=1
// +kubebuilder:printcolumn:name="Question",type=string,JSONPath=`.status.question`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.metadata.name == self.spec.task || (size(self.metadata.name) > 6 && self.spec.task.startsWith(self.metadata.name.substring(0, size(self.metadata.name) - 6))))",message="metadata.name must be the name of the task in spec.task, with a suffix of five characters if that name is taken",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="(has(self.status) && (!has(oldSelf.status) || self.status.?iterations.orValue(0) != oldSelf.status.?iterations.orValue(0))) || self.spec == oldSelf.spec || [has(self.spec.chat) == has(oldSelf.spec.chat), has(self.spec.parent) == has(oldSelf.spec.parent), has(self.spec.instruction) == has(oldSelf.spec.instruction), has(self.spec.contentLabels) == has(oldSelf.spec.contentLabels), has(self.spec.arguments) == has(oldSelf.spec.arguments), has(self.spec.contextFiles) == has(oldSelf.spec.contextFiles), has(self.spec.successCriteria) == has(oldSelf.spec.successCriteria), has(self.spec.outputSchema) == has(oldSelf.spec.outputSchema), has(self.spec.context) == has(oldSelf.spec.context), has(self.spec.continueFrom) == has(oldSelf.spec.continueFrom), has(self.spec.workingDir) == has(oldSelf.spec.workingDir), has(self.spec.modelProvider) == has(oldSelf.spec.modelProvider), has(self.spec.model) == has(oldSelf.spec.model), has(self.spec.limits) == has(oldSelf.spec.limits)].all(same, same) && (!has(self.spec.limits) || self.spec.limits == oldSelf.spec.limits)",message="only cancel can change, be added or be removed: create a new AgentTask, which launches a new sub-agent",fieldPath=".spec"
type SubAgent struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is the agent's assignment. Only cancel can change.
	// +required
	// +structType=atomic
	Spec SubAgentSpec `json:"spec,omitzero"`
	// status is the observed state of the agent.
	// +optional
	// +structType=atomic
	Status SubAgentStatus `json:"status,omitzero"`
}

// SubAgentList is a list of sub-agents.
//
// +kubebuilder:object:root=true
type SubAgentList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []SubAgent `json:"items"`
}
