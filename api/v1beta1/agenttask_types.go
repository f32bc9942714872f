// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AgentTaskSpec is delegated work: the work of an agent, or one tool call.
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.type == 'Tool' ? has(self.tool) && !has(self.role) : (has(self.role) || has(self.fork)) && !has(self.tool))",message="a task of type Agent needs role and must not have tool, one of type Tool needs tool and must not have role",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.type == 'Tool' || has(self.instruction) || has(self.arguments) || has(self.fork))",message="a task of type Agent needs instruction, or arguments if its role has an inputSchema",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.type == 'Agent' || !(has(self.instruction) || has(self.contextFiles) || has(self.successCriteria) || has(self.context) || has(self.continueFrom) || has(self.outputSchema)))",message="a task of type Tool is one call: put its input into arguments, and leave out instruction, contextFiles, successCriteria, context, continueFrom and outputSchema",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.type == 'Agent' || !(has(self.model) || has(self.modelProvider) || (has(self.limits) && (has(self.limits.maxIterations) || has(self.limits.maxTasks) || has(self.limits.maxTotalTokens)))))",message="a task of type Tool is one call, calls no model and starts no tasks: leave out model, modelProvider and all limits but maxDurationSeconds",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (!has(self.chat) || !(has(self.model) || has(self.modelProvider) || has(self.workspace)))",message="model, modelProvider and workspace are for standalone tasks: a chat's task has those of its chat and role",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (!has(self.chat) || !has(self.user))",message="user is for standalone tasks: the requesters of a chat's task are the authors of its chat's messages",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.userGroups) || (self.type == 'Tool' && has(self.user))",message="userGroups are those of user, for a task of type Tool: set user, or leave them out",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (has(self.chat) || !has(self.triggerMessage))",message="triggerMessage is for tasks of a chat: leave it out of a standalone task",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (!has(self.chat) || !has(self.notify))",message="notify is for standalone tasks: set it on the AgentChat",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.?context.orValue('None') != 'Selective' || size(self.?contextFiles.orValue([])) > 0)",message="context Selective shows the agent the files in contextFiles: name at least one",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.fork) || self.type == 'Agent' && ![has(self.chat), has(self.arguments), has(self.contextFiles), has(self.successCriteria), has(self.outputSchema), has(self.context), has(self.continueFrom), has(self.workingDir), has(self.limits)].exists(set, set)",message="a fork is a standalone task of type Agent that has the work and the limits of its run: leave out chat, arguments, contextFiles, successCriteria, outputSchema, context, continueFrom, workingDir and limits",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.fork) || !has(self.workspace) || self.fork.?toolResults.orValue('Recorded') != 'Recorded' && !has(self.workspace.persistentVolumeClaim)",message="the workspace of a fork is new: toolResults must be ReadOnly or Live, and its source must not be persistentVolumeClaim",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.fork) || !has(self.fork.roleRevision) || has(self.role)",message="fork.roleRevision is a revision of role: set role",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="!oldSelf.?cancel.orValue(false) || self.?cancel.orValue(false)",message="cancel cannot be reset once it is true: create a new AgentTask"
type AgentTaskSpec struct {
	// chat is the AgentChat that the task belongs to. If absent, the task is a standalone task.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Chat Name `json:"chat,omitempty"`
	// type is Agent for the work of an agent, or Tool for one tool call.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Type TaskType `json:"type"`
	// role is the AgentRole of the agent that does the work. Only for type Agent.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Role Name `json:"role,omitempty"`
	// tool is the tool to call, by the name that a model would use. Only for type Tool.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Tool ToolName `json:"tool,omitempty"`
	// arguments are the arguments of the tool, or the input of a role that has an inputSchema.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Arguments *runtime.RawExtension `json:"arguments,omitempty"`
	// instruction is the work that the agent should do. Only for type Agent.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Instruction string `json:"instruction,omitempty"`
	// contextFiles are the files of the workspace that the agent should read first, as paths from the directory it works
	// in. If context is Selective, the agent receives their contents.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	ContextFiles []FilePath `json:"contextFiles,omitzero"`
	// successCriteria describes when the work is done.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	SuccessCriteria string `json:"successCriteria,omitempty"`
	// outputSchema is the JSON schema, of type object, of the data that the agent submits with its result, as in
	// AgentRole. It replaces the one of the role.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	OutputSchema *runtime.RawExtension `json:"outputSchema,omitempty"`
	// context is the content that the sub-agent receives in addition to its instruction: None, the default; Summary, a
	// summary of its parent's conversation; Full, that conversation; Selective, the contents of contextFiles. A standalone
	// task has no parent: its context is None or Selective.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Context ContextMode `json:"context,omitempty"`
	// continueFrom is a finished SubAgent whose history the agent continues. It must have the same role, and belong to the
	// same chat or to a standalone task as well.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	ContinueFrom Name `json:"continueFrom,omitempty"`
	// workingDir is the directory of the workspace that the agent works in, as a path from the workspace's root. Defaults
	// to that of the parent, then to the root.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	WorkingDir FilePath `json:"workingDir,omitempty"`
	// triggerMessage is the AgentMessage that caused the task.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	TriggerMessage MessageName `json:"triggerMessage,omitempty"`
	// group is shared by the tasks of one fan-out, which report their results together. The operator sets it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Group Name `json:"group,omitempty"`
	// limits may only tighten those of the role.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Limits *TaskLimits `json:"limits,omitempty"`
	// modelProvider is the ModelProvider of a standalone task, and of the agents below it whose roles set none. Defaults
	// to that of the role, then to the one named "default".
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	ModelProvider Name `json:"modelProvider,omitempty"`
	// model is the model of a standalone task, and of the agents below it whose roles set neither a provider nor a model.
	// Defaults to that of the role, then to the default model of the provider.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Model ModelName `json:"model,omitempty"`
	// workspace gives a standalone task files to work on.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Workspace *Workspace `json:"workspace,omitempty"`
	// user is the user name of the person who requests a standalone task, and must be the user who creates it. On a
	// task of a trigger it is the author of the trigger.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	User UserName `json:"user,omitempty"`
	// userGroups are groups of that user, who must be allowed to use the shared ToolServer that a task of type Tool
	// calls. They must be groups of the user who creates the task (kubectl auth whoami).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	UserGroups []string `json:"userGroups,omitempty"`
	// fireUser is the user name of the person who fired the trigger of the task, and like user a requester of the
	// work. The operator sets it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	FireUser UserName `json:"fireUser,omitempty"`
	// contentLabels are the content labels of the task's texts. A trigger sets untrusted if they come from outside.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	ContentLabels []ContentLabel `json:"contentLabels,omitempty"`
	// fork makes the task continue a recorded run. Its role, model, modelProvider and instruction replace those of the
	// run.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Fork *TaskFork `json:"fork,omitempty"`
	// notify are receivers of notifications when a person is asked, and when the task ends. Only for standalone
	// tasks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot change: only cancel and ttlSecondsAfterFinished can; create a new AgentTask"
	Notify NotifyReceivers `json:"notify,omitempty"`
	// cancel requests that the work stops. Once true, it stays true.
	// +optional
	Cancel bool `json:"cancel,omitempty"`
	// ttlSecondsAfterFinished is how long the task is kept after it finished. If absent, it is kept indefinitely; if 0, it
	// is deleted at once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// TaskFork describes the recorded run that a task continues, and where its replies and results come from.
// +kubebuilder:validation:XValidation:rule="has(self.task) != has(self.subAgent)",message="name either the task or the subAgent of the run"
// +kubebuilder:validation:XValidation:rule="!has(self.roleRevision) || self.?toolResults.orValue('Recorded') != 'Live'",message="roleRevision may be one that is not promoted, so toolResults must not be Live"
type TaskFork struct {
	// uid is the UID of the run: that of its SubAgent, which its transcript shows.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
	// task is the AgentTask of the run, which need not exist any more. If its SubAgent has another name, subAgent is
	// set instead.
	// +optional
	Task Name `json:"task,omitempty"`
	// subAgent is the SubAgent of the run, which need not exist any more.
	// +optional
	SubAgent Name `json:"subAgent,omitempty"`
	// sequence is the event of the run after which the fork begins, or the last one before it at which nothing is
	// outstanding. If absent, it is the last event.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Sequence *int64 `json:"sequence,omitempty"`
	// modelReplies is where the model's replies come from: Live, the default, or Recorded. It is Live if the role, the
	// model, the provider or the instruction is replaced.
	// +optional
	ModelReplies ReplySource `json:"modelReplies,omitempty"`
	// toolResults is where the results of calls come from: Recorded, the default; ReadOnly, which also runs read-only
	// tools; or Live. With Recorded and ReadOnly, any other call ends the task with Diverged.
	// +optional
	ToolResults ResultSource `json:"toolResults,omitempty"`
	// roleRevision is the revision of a gated role that the fork uses instead of the promoted one. The operator sets it, for
	// the tasks of an AgentEvaluation.
	// +optional
	// +kubebuilder:validation:MinLength=1
	RoleRevision Revision `json:"roleRevision,omitempty"`
}

// ReplySource is where the replies of a fork's model come from.
// +kubebuilder:validation:Enum=Recorded;Live
type ReplySource string

// The sources of replies.
const (
	// RepliesRecorded: from the record.
	RepliesRecorded ReplySource = "Recorded"
	// RepliesLive: from the model.
	RepliesLive ReplySource = "Live"
)

// ResultSource is where the results of a fork's calls come from.
// +kubebuilder:validation:Enum=Recorded;ReadOnly;Live
type ResultSource string

// The sources of results.
const (
	// ResultsRecorded: from the record.
	ResultsRecorded ResultSource = "Recorded"
	// ResultsReadOnly: from the record, and read-only tools run.
	ResultsReadOnly ResultSource = "ReadOnly"
	// ResultsLive: all calls are made.
	ResultsLive ResultSource = "Live"
)

// TaskType is the type of work of a task.
// +kubebuilder:validation:Enum=Agent;Tool
type TaskType string

// The types of tasks.
const (
	// TaskAgent is the work of a sub-agent.
	TaskAgent TaskType = "Agent"
	// TaskTool is one tool call.
	TaskTool TaskType = "Tool"
)

// TaskLimits may only tighten those of the role. A task of type Tool has maxDurationSeconds only.
type TaskLimits struct {
	// maxIterations is the maximum number of model calls that the agent may make.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxIterations *int32 `json:"maxIterations,omitempty"`
	// maxDurationSeconds is how long the work may take, without the time spent waiting for a person.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	MaxDurationSeconds *int32 `json:"maxDurationSeconds,omitempty"`
	// maxTasks is the maximum number of tasks that the agent and everything below it may start; 0 means no limit of its
	// own. Defaults to 100 for a standalone task.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	MaxTasks *int32 `json:"maxTasks,omitempty"`
	// maxTotalTokens is the maximum number of tokens that the agent and everything below it may use; 0 means no limit of
	// its own. Defaults to 2000000 for a standalone task.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxTotalTokens *int64 `json:"maxTotalTokens,omitempty"`
}

// TaskPhase is the phase of a task, for people.
// +kubebuilder:validation:Enum=Pending;Running;Waiting;Success;Failed;Cancelled
type TaskPhase string

// The phases of a task.
const (
	// TaskPending: it has not started; its condition has the reason.
	TaskPending TaskPhase = "Pending"
	// TaskRunning: its agent or tool is running.
	TaskRunning TaskPhase = "Running"
	// TaskWaiting: it waits for a person.
	TaskWaiting TaskPhase = "Waiting"
	// TaskSuccess: it ended with a result.
	TaskSuccess TaskPhase = "Success"
	// TaskFailed: it failed; it may have a partial result if it reached a limit.
	TaskFailed TaskPhase = "Failed"
	// TaskCancelled: it was cancelled.
	TaskCancelled TaskPhase = "Cancelled"
)

// AgentTaskStatus is the observed state of a task.
type AgentTaskStatus struct {
	// phase is Pending, Running, Waiting, Success, Failed or Cancelled.
	// +optional
	Phase TaskPhase `json:"phase,omitempty"`
	// subAgent is the SubAgent that does the work. It has the task's name, with a suffix if that name was taken.
	// +optional
	SubAgent Name `json:"subAgent,omitempty"`
	// forkSequence is the event of the recorded run after which a fork has begun; 0 if it has begun anew.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ForkSequence *int64 `json:"forkSequence,omitempty"`
	// waiting describes the question or approval that the task waits for.
	// +optional
	Waiting *Waiting `json:"waiting,omitempty"`
	// progress is what the tool of a task of type Tool reports while it runs: "3/10 reading files".
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Progress string `json:"progress,omitempty"`
	// result is the result of the work; a task that reached a limit may have a partial one.
	// +optional
	Result *TaskResult `json:"result,omitempty"`
	// error describes why the task ended without success.
	// +optional
	Error *RunError `json:"error,omitempty"`
	// iterations is the number of model calls.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Iterations int32 `json:"iterations,omitempty"`
	// durationSeconds is the total duration of the work, rounded up.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DurationSeconds *int64 `json:"durationSeconds,omitempty"`
	// contentLabels are the content labels of everything that the agent of the task has received, with their first
	// sources.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ContentLabels []ReceivedLabel `json:"contentLabels,omitempty"`
	// roleRevision is the revision of the role that the agent began with.
	// +optional
	RoleRevision Revision `json:"roleRevision,omitempty"`
	// pinnedRevisions are the promoted revisions of the gated roles with which the standalone task began. Agents below it that start
	// later have the same ones.
	// +optional
	// +listType=map
	// +listMapKey=role
	// +kubebuilder:validation:MaxItems=24
	PinnedRevisions []RoleRevision `json:"pinnedRevisions,omitempty"`
	// usage is the usage of the task and its children.
	// +optional
	Usage Usage `json:"usage,omitzero"`
	// startTime is the time when the work started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is the time when the task ended, with or without success.
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

// AgentTask is delegated work: the operator creates the tasks of a chat. A standalone task is a job that a user with
// permission to create it can apply and wait for.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=atask,categories=nestor
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.role`
// +kubebuilder:printcolumn:name="Tool",type=string,JSONPath=`.spec.tool`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Iterations",type=integer,JSONPath=`.status.iterations`,priority=1
// +kubebuilder:printcolumn:name="Tokens",type=integer,JSONPath=`.status.usage.totalTokens`
// +kubebuilder:printcolumn:name="Chat",type=string,JSONPath=`.spec.chat`
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.group`,priority=1
// +kubebuilder:printcolumn:name="Waits",type=string,JSONPath=`.status.conditions[?(@.type=="Reconciling")].reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:selectablefield:JSONPath=`.status.phase`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (size(self.metadata.name) <= 63 && !self.metadata.name.contains('.'))",message="metadata.name must have at most 63 characters and no dots: its sub-agent has the same name and it becomes a label",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="(has(self.status) && (!has(oldSelf.status) || self.status.?iterations.orValue(0) != oldSelf.status.?iterations.orValue(0))) || self.spec == oldSelf.spec || [has(self.spec.chat) == has(oldSelf.spec.chat), has(self.spec.role) == has(oldSelf.spec.role), has(self.spec.tool) == has(oldSelf.spec.tool), has(self.spec.arguments) == has(oldSelf.spec.arguments), has(self.spec.instruction) == has(oldSelf.spec.instruction), has(self.spec.contentLabels) == has(oldSelf.spec.contentLabels), has(self.spec.contextFiles) == has(oldSelf.spec.contextFiles), has(self.spec.successCriteria) == has(oldSelf.spec.successCriteria), has(self.spec.outputSchema) == has(oldSelf.spec.outputSchema), has(self.spec.context) == has(oldSelf.spec.context), has(self.spec.continueFrom) == has(oldSelf.spec.continueFrom), has(self.spec.workingDir) == has(oldSelf.spec.workingDir), has(self.spec.user) == has(oldSelf.spec.user), has(self.spec.userGroups) == has(oldSelf.spec.userGroups), has(self.spec.fireUser) == has(oldSelf.spec.fireUser), has(self.spec.triggerMessage) == has(oldSelf.spec.triggerMessage), has(self.spec.group) == has(oldSelf.spec.group), has(self.spec.limits) == has(oldSelf.spec.limits), has(self.spec.modelProvider) == has(oldSelf.spec.modelProvider), has(self.spec.model) == has(oldSelf.spec.model), has(self.spec.workspace) == has(oldSelf.spec.workspace), has(self.spec.fork) == has(oldSelf.spec.fork), has(self.spec.notify) == has(oldSelf.spec.notify)].all(same, same)",message="only cancel and ttlSecondsAfterFinished can be added or removed: create a new AgentTask",fieldPath=".spec"
type AgentTask struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is the work: that of an agent, or one tool call. Only cancel and ttlSecondsAfterFinished can change.
	// +required
	Spec AgentTaskSpec `json:"spec,omitzero"`
	// status is the observed state of the task.
	// +optional
	// +structType=atomic
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
