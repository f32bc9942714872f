// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AgentTaskSpec is a piece of delegated work: an agent's or one tool call.
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.type == 'Tool' ? has(self.tool) && !has(self.role) : has(self.role) && !has(self.tool))",message="a task of type Agent needs role and must not have tool, one of type Tool needs tool and must not have role",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.type == 'Tool' || has(self.instruction) || has(self.arguments))",message="a task of type Agent needs instruction, or arguments if its role has an inputSchema",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.type == 'Agent' || !(has(self.instruction) || has(self.contextFiles) || has(self.successCriteria) || has(self.context) || has(self.continueFrom)))",message="a task of type Tool is one call: put its input into arguments, and leave out instruction, contextFiles, successCriteria, context and continueFrom",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.type == 'Agent' || !(has(self.model) || has(self.modelProvider) || (has(self.limits) && has(self.limits.maxIterations))))",message="a task of type Tool is one call and calls no model: leave out model, modelProvider and limits.maxIterations",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (!has(self.chat) || !(has(self.model) || has(self.modelProvider) || has(self.workspace)))",message="model, modelProvider and workspace are for standalone tasks: a chat's task has those of its chat and role",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (!has(self.chat) || !has(self.user))",message="user is for standalone tasks: who asked for a chat's task is told by the messages of its chat",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (has(self.chat) || !has(self.triggerMessage))",message="triggerMessage is for tasks of a chat: leave it out of a standalone task",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.?context.orValue('None') != 'Selective' || size(self.?contextFiles.orValue([])) > 0)",message="context Selective shows the agent the files in contextFiles: name at least one",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="!oldSelf.?cancel.orValue(false) || self.?cancel.orValue(false)",message="cancel cannot be taken back once it is true: create a new AgentTask"
type AgentTaskSpec struct {
	// chat is the AgentChat that the task belongs to. Absent: a standalone task.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Chat Name `json:"chat,omitempty"`
	// type is Agent for work of an agent, or Tool for one tool call.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Type TaskType `json:"type"`
	// role is the AgentRole of the agent that does the work. For type Agent.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Role Name `json:"role,omitempty"`
	// tool is the tool to call, by the name that a model would use. For type Tool.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Tool ToolName `json:"tool,omitempty"`
	// arguments are those of the tool, or the input of a role that has an inputSchema.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Arguments *runtime.RawExtension `json:"arguments,omitempty"`
	// instruction says what the agent is to do. For type Agent.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Instruction string `json:"instruction,omitempty"`
	// contextFiles are the files of the workspace that the agent should look at first, as paths from the directory it works in.
	// With the context Selective it is shown their contents.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	ContextFiles []FilePath `json:"contextFiles,omitzero"`
	// successCriteria says how to tell that the work is done.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	SuccessCriteria string `json:"successCriteria,omitempty"`
	// context is what the sub-agent is shown beside its instruction: None; Summary, a summary of the conversation of the agent
	// that asked for it; Full, that conversation; Selective, the contents of contextFiles. A standalone task has nobody who asked:
	// it can have None or Selective. Absent: None.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Context ContextMode `json:"context,omitempty"`
	// continueFrom is a finished SubAgent from whose history the work goes on: of the same role, and of the same chat or
	// also standalone.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	ContinueFrom Name `json:"continueFrom,omitempty"`
	// cwd is the directory of the workspace that the agent works in, as a path from the workspace's root. Absent: that of the
	// agent that asked for the task, else the root.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Cwd FilePath `json:"cwd,omitempty"`
	// triggerMessage is the AgentMessage that caused the task.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	TriggerMessage MessageName `json:"triggerMessage,omitempty"`
	// group is shared by the tasks of one fan-out, whose results come back together. The operator sets it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Group Name `json:"group,omitempty"`
	// limits may only tighten those of the role.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Limits *TaskLimits `json:"limits,omitempty"`
	// modelProvider is the ModelProvider of a standalone task, and of the agents below it whose roles name none. Absent: the
	// role's, else the one named "default".
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	ModelProvider Name `json:"modelProvider,omitempty"`
	// model is the model of a standalone task, and of the agents below it whose roles name neither a provider nor a model.
	// Absent: the role's, else the provider's default.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Model ModelName `json:"model,omitempty"`
	// workspace gives a standalone task files to work on.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Workspace *Workspace `json:"workspace,omitempty"`
	// user is the user name of the person who asks for a standalone task. It must be that of the one who creates it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	User UserName `json:"user,omitempty"`
	// cancel asks that the work stops. Once true it stays true.
	// +optional
	Cancel bool `json:"cancel,omitempty"`
	// ttlSecondsAfterFinished is how long the task is kept after it finished. Absent: for ever; 0: not at all.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// TaskType is what kind of work a task is.
// +kubebuilder:validation:Enum=Agent;Tool
type TaskType string

// What kind of work a task is.
const (
	// TaskAgent is work of a sub-agent.
	TaskAgent TaskType = "Agent"
	// TaskTool is one tool call.
	TaskTool TaskType = "Tool"
)

// TaskLimits may only tighten those of the role.
type TaskLimits struct {
	// maxIterations is how many model calls the agent may make.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxIterations *int32 `json:"maxIterations,omitempty"`
	// maxDurationSeconds is how long the work may take; time spent waiting for a person does not count.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	MaxDurationSeconds *int32 `json:"maxDurationSeconds,omitempty"`
	// maxTasks is how many tasks the agent and everything below it may start. Default for a standalone task: 100. 0: no
	// limit of its own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	MaxTasks *int32 `json:"maxTasks,omitempty"`
	// maxTotalTokens is how many tokens the agent and everything below it may use. Default for a standalone task:
	// 2000000. 0: no limit of its own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxTotalTokens *int64 `json:"maxTotalTokens,omitempty"`
}

// TaskPhase is where a task stands, for people.
// +kubebuilder:validation:Enum=Pending;Running;Waiting;Success;Failed;Cancelled
type TaskPhase string

// Where a task stands.
const (
	// TaskPending: it has not begun; its condition says what it waits for.
	TaskPending TaskPhase = "Pending"
	// TaskRunning: its agent or tool is at work.
	TaskRunning TaskPhase = "Running"
	// TaskWaiting: it waits for a person.
	TaskWaiting TaskPhase = "Waiting"
	// TaskSuccess: it ended with a result.
	TaskSuccess TaskPhase = "Success"
	// TaskFailed: it ended without one, or with a partial one because a limit was reached.
	TaskFailed TaskPhase = "Failed"
	// TaskCancelled: it was cancelled.
	TaskCancelled TaskPhase = "Cancelled"
)

// AgentTaskStatus is where a task stands.
type AgentTaskStatus struct {
	// phase is Pending, Running, Waiting, Success, Failed or Cancelled.
	// +optional
	Phase TaskPhase `json:"phase,omitempty"`
	// subAgent is the SubAgent that does the work. It has the task's name, with a suffix if that was taken.
	// +optional
	SubAgent Name `json:"subAgent,omitempty"`
	// waiting says what the task waits for a person to say.
	// +optional
	Waiting *Waiting `json:"waiting,omitempty"`
	// result is what came of the work; a task that reached a limit may have a partial one.
	// +optional
	Result *TaskResult `json:"result,omitempty"`
	// error says why the task ended without success.
	// +optional
	Error *RunError `json:"error,omitempty"`
	// iterations is how many model calls were made.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Iterations int32 `json:"iterations,omitempty"`
	// durationMillis is how long the work took in all.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DurationMillis *int64 `json:"durationMillis,omitempty"`
	// usage is what the task, its children included, has used.
	// +optional
	Usage Usage `json:"usage,omitzero"`
	// startTime is when the work began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when it ended, one way or another.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// conditions has Succeeded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AgentTask is a piece of delegated work. In a chat the operator creates it; on its own it is a job that anybody with
// the right may apply and wait for.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=atask,categories=nestor
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.role`
// +kubebuilder:printcolumn:name="Tool",type=string,JSONPath=`.spec.tool`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Iterations",type=integer,JSONPath=`.status.iterations`
// +kubebuilder:printcolumn:name="Tokens",type=integer,JSONPath=`.status.usage.totalTokens`
// +kubebuilder:printcolumn:name="Chat",type=string,JSONPath=`.spec.chat`
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.group`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (size(self.metadata.name) <= 63 && !self.metadata.name.contains('.'))",message="metadata.name must have at most 63 characters and no dots: its sub-agent has the same name and it becomes a label",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="(has(self.status) && (!has(oldSelf.status) || self.status.?iterations.orValue(0) != oldSelf.status.?iterations.orValue(0))) || self.spec == oldSelf.spec || [has(self.spec.chat) == has(oldSelf.spec.chat), has(self.spec.role) == has(oldSelf.spec.role), has(self.spec.tool) == has(oldSelf.spec.tool), has(self.spec.arguments) == has(oldSelf.spec.arguments), has(self.spec.instruction) == has(oldSelf.spec.instruction), has(self.spec.contextFiles) == has(oldSelf.spec.contextFiles), has(self.spec.successCriteria) == has(oldSelf.spec.successCriteria), has(self.spec.context) == has(oldSelf.spec.context), has(self.spec.continueFrom) == has(oldSelf.spec.continueFrom), has(self.spec.cwd) == has(oldSelf.spec.cwd), has(self.spec.user) == has(oldSelf.spec.user), has(self.spec.triggerMessage) == has(oldSelf.spec.triggerMessage), has(self.spec.group) == has(oldSelf.spec.group), has(self.spec.limits) == has(oldSelf.spec.limits), has(self.spec.modelProvider) == has(oldSelf.spec.modelProvider), has(self.spec.model) == has(oldSelf.spec.model), has(self.spec.workspace) == has(oldSelf.spec.workspace)].all(same, same)",message="only cancel and ttlSecondsAfterFinished can be added or removed: create a new AgentTask",fieldPath=".spec"
type AgentTask struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is the work: of an agent, or one tool call. Only cancel and ttlSecondsAfterFinished can change.
	// +required
	Spec AgentTaskSpec `json:"spec,omitzero"`
	// status is where it stands.
	// +optional
	Status AgentTaskStatus `json:"status,omitzero"`
}

// AgentTaskList is a list of tasks.
//
// +kubebuilder:object:root=true
type AgentTaskList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []AgentTask `json:"items"`
}
