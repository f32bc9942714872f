// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AgentChatSpec configures the orchestrator of a chat and the limits of its tree.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.user) || (has(self.user) && self.user == oldSelf.user)",message="user cannot change once it is set: create a new AgentChat"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.workspace) || (has(self.workspace) && self.workspace == oldSelf.workspace)",message="workspace cannot change once it is set: create a new AgentChat"
type AgentChatSpec struct {
	// role is the AgentRole of the orchestrator.
	// +optional
	// +default="orchestrator"
	Role Name `json:"role,omitempty"`
	// modelProvider is the ModelProvider of the orchestrator, and of the sub-agents whose roles set none. Defaults to that
	// of the role, then to the provider named "default".
	// +optional
	ModelProvider Name `json:"modelProvider,omitempty"`
	// model is the model of the orchestrator, and of the sub-agents whose roles set neither a provider nor a model.
	// Defaults to that of the role, then to the default model of the provider.
	// +optional
	Model ModelName `json:"model,omitempty"`
	// user is the user name of the person who uses the chat. If set, it must be the user who creates the chat, unless that
	// is the operator.
	// +optional
	User UserName `json:"user,omitempty"`
	// workspace gives the agents of this chat files to work on. If absent, there are no workspace tools.
	// +optional
	Workspace *Workspace `json:"workspace,omitempty"`
	// limits apply to the whole tree of this chat.
	// +optional
	// +default={}
	Limits ChatLimits `json:"limits,omitzero"`
	// autoAnswer configures when the orchestrator may answer a sub-agent's question from the chat's history.
	// +optional
	// +default={}
	AutoAnswer AutoAnswer `json:"autoAnswer,omitzero"`
	// taskTTLSecondsAfterFinished is how long finished tasks of this chat are kept. If absent, they are kept indefinitely;
	// if 0, they are deleted at once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	TaskTTLSecondsAfterFinished *int32 `json:"taskTTLSecondsAfterFinished,omitempty"`
	// notify are receivers of notifications when a person is asked, and when a turn ends.
	// +optional
	// +listType=atomic
	Notify NotifyReceivers `json:"notify,omitempty"`
}

// ChatLimits apply to the whole tree of a chat.
type ChatLimits struct {
	// maxDepth is the maximum depth of sub-agents; those of the orchestrator have depth 1.
	// +optional
	// +default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	MaxDepth int32 `json:"maxDepth,omitempty"`
	// maxParallelTasks is the maximum number of sub-agents that may be Active at the same time, at any depth; the others
	// stay Pending. Sub-agents that wait for children or a person do not count, so parents never block their children.
	// +optional
	// +default=8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxParallelTasks int32 `json:"maxParallelTasks,omitempty"`
	// maxTotalTokens is the maximum number of tokens that the chat and all its sub-agents may use. 0 means no limit of its
	// own; a limit of the role applies too.
	// +optional
	// +default=0
	// +kubebuilder:validation:Minimum=0
	MaxTotalTokens int64 `json:"maxTotalTokens,omitempty"`
	// maxCostMicros is how much the chat and all its sub-agents may cost, in millionths of the currency; every model
	// that is used needs a price in its ModelProvider. 0 means no limit besides the role's.
	// +optional
	// +default=0
	// +kubebuilder:validation:Minimum=0
	MaxCostMicros int64 `json:"maxCostMicros,omitempty"`
	// maxTurnsPerMessage is the maximum number of turns that the orchestrator may take after the last message of a person,
	// before the chat pauses until the next message. 0 means no limit.
	// +optional
	// +default=25
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	MaxTurnsPerMessage *int32 `json:"maxTurnsPerMessage,omitempty"`
	// maxTasksPerMessage is the maximum number of tasks that the chat and all its sub-agents may start after the last
	// message of a person, before the chat pauses until the next message. 0 means no limit.
	// +optional
	// +default=100
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	MaxTasksPerMessage *int32 `json:"maxTasksPerMessage,omitempty"`
	// maxTokensPerMessage is the maximum number of tokens that the chat and all its sub-agents may use after the last
	// message of a person, before the chat pauses until the next message. 0 means no limit.
	// +optional
	// +default=2000000
	// +kubebuilder:validation:Minimum=0
	MaxTokensPerMessage *int64 `json:"maxTokensPerMessage,omitempty"`
}

// AutoAnswer configures when the orchestrator may answer a sub-agent's question from the chat's history.
type AutoAnswer struct {
	// enabled allows the orchestrator to answer before the question goes to the person.
	// +optional
	// +default=true
	Enabled *bool `json:"enabled,omitempty"`
	// minConfidence is the confidence, from 0 to 100, that the orchestrator needs to answer; below it the question goes to
	// the person.
	// +optional
	// +default=70
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MinConfidence *int32 `json:"minConfidence,omitempty"`
	// maxPerQuestion is the maximum number of automatic answers to the same question; after that it goes to the person.
	// +optional
	// +default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	MaxPerQuestion *int32 `json:"maxPerQuestion,omitempty"`
}

// ChatPhase is the phase of a chat, for people.
// +kubebuilder:validation:Enum=Idle;Running;Waiting
type ChatPhase string

// The phases of a chat.
const (
	// ChatIdle: nothing is running or waiting.
	ChatIdle ChatPhase = "Idle"
	// ChatRunning: an orchestrator turn or a task is active.
	ChatRunning ChatPhase = "Running"
	// ChatWaiting: an agent waits for a person.
	ChatWaiting ChatPhase = "Waiting"
)

// ChatWaitingItem is a question or an approval of a chat that waits for a person.
type ChatWaitingItem struct {
	// task is the AgentTask that waits.
	// +required
	Task Name `json:"task"`

	Waiting `json:",inline"`
}

// ChatAllowance is a standing approval: calls of the tool whose arguments match need no decision in this chat.
type ChatAllowance struct {
	// name is the AgentMessage that made the allowance.
	// +required
	Name MessageName `json:"name"`
	// tool is the tool.
	// +required
	Tool ToolName `json:"tool"`
	// arguments restricts the calls; without it, all calls of the tool are approved.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Arguments []ArgumentPattern `json:"arguments,omitempty"`
	// user is the person who made the allowance.
	// +required
	User UserName `json:"user"`
	// startTime is the time when the allowance was made.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
}

// TaskCounts counts the tasks of a chat by phase.
type TaskCounts struct {
	// pending counts the tasks that have not started.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pending int32 `json:"pending,omitempty"`
	// running counts the tasks in progress.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Running int32 `json:"running,omitempty"`
	// waiting counts the tasks that wait for a person.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Waiting int32 `json:"waiting,omitempty"`
	// success counts the tasks that ended with a result.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Success int32 `json:"success,omitempty"`
	// failed counts the tasks that failed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failed int32 `json:"failed,omitempty"`
	// cancelled counts the tasks that were cancelled.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Cancelled int32 `json:"cancelled,omitempty"`
}

// AgentChatStatus is the observed state of a chat. The whole conversation is in its AgentMessages and in the ledger.
type AgentChatStatus struct {
	// observedGeneration is the generation of the spec that is in effect (a change during a turn takes effect with the
	// next one); -1 until the operator has checked the object.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is Idle, Running or Waiting.
	// +optional
	Phase ChatPhase `json:"phase,omitempty"`
	// startTime is the time when the conversation started. A chat that has a start time but no events in the ledger has
	// lost its history.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// waiting lists the questions and approvals that wait for a person, oldest first; tasks.waiting counts all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Waiting []ChatWaitingItem `json:"waiting,omitempty"`
	// requesters are the users who have written to the chat, and therefore cannot decide the waiting approvals with
	// denyRequesters. If it is empty while such an approval waits, the author of a message is unknown, and no one can
	// decide in this chat.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Requesters []UserName `json:"requesters,omitempty"`
	// contentLabels are the content labels of everything that the agent has received, with their first sources.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ContentLabels []ReceivedLabel `json:"contentLabels,omitempty"`
	// roleRevision is the revision of the role that the agent has.
	// +optional
	RoleRevision Revision `json:"roleRevision,omitempty"`
	// pinnedRevisions are the promoted revisions of the gated roles with which the chat began. Agents below it that start
	// later have the same ones.
	// +optional
	// +listType=map
	// +listMapKey=role
	// +kubebuilder:validation:MaxItems=24
	PinnedRevisions []RoleRevision `json:"pinnedRevisions,omitempty"`
	// allowances are the standing approvals of this chat, oldest first. A message with spec.revoke ends one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Allowances []ChatAllowance `json:"allowances,omitempty"`
	// tasks counts the tasks of this chat by phase.
	// +optional
	Tasks TaskCounts `json:"tasks,omitzero"`
	// messages is the number of AgentMessages of this chat.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Messages int32 `json:"messages,omitempty"`
	// title is the title that the model proposes. The annotation nestor.dev/title is that of a person, and comes before
	// it.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	Title string `json:"title,omitempty"`
	// lastMessage is the newest AgentMessage of this chat.
	// +optional
	LastMessage MessageName `json:"lastMessage,omitempty"`
	// lastMessageTime is the time when lastMessage was created. It is absent until the first message after an upgrade from
	// a release without this field.
	// +optional
	LastMessageTime *metav1.Time `json:"lastMessageTime,omitempty"`
	// usage is the usage of the chat and all its sub-agents.
	// +optional
	Usage Usage `json:"usage,omitzero"`
	// conditions contains Ready and, while a model call waits, Reconciling.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AgentChat is a conversation with an orchestrator, which answers or delegates.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=achat,categories=nestor
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Messages",type=integer,JSONPath=`.status.messages`
// +kubebuilder:printcolumn:name="Running",type=integer,JSONPath=`.status.tasks.running`
// +kubebuilder:printcolumn:name="Waiting",type=integer,JSONPath=`.status.tasks.waiting`
// +kubebuilder:printcolumn:name="Tokens",type=integer,JSONPath=`.status.usage.totalTokens`
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.spec.user`,priority=1
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.role`,priority=1
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.modelProvider`,priority=1
// +kubebuilder:printcolumn:name="Waits",type=string,JSONPath=`.status.conditions[?(@.type=="Reconciling")].reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="metadata.name must have at most 63 characters and no dots: it becomes a label of everything in the chat"
type AgentChat struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec configures the orchestrator and the limits of the chat.
	// +optional
	// +default={}
	Spec AgentChatSpec `json:"spec,omitzero"`
	// status is the observed state of the chat.
	// +optional
	// +default={"observedGeneration": -1}
	// +structType=atomic
	Status AgentChatStatus `json:"status,omitzero"`
}

// AgentChatList is a list of chats.
//
// +kubebuilder:object:root=true
type AgentChatList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []AgentChat `json:"items"`
}
