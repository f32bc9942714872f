// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AgentMessageSpec is the content of a message. It belongs to one chat or standalone task, has one purpose, and is immutable.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot change: create a new AgentMessage"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.role == 'User' ? has(self.chat) != has(self.task) : has(self.chat) || has(self.task))",message="set exactly one of chat and task: task is for standalone tasks; use inReplyTo to answer a question of a chat",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || ([has(self.content), has(self.approval), has(self.cancel), has(self.revoke)].exists_one(set, set))",message="set exactly one of content, approval, cancel and revoke",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.role == 'User' || has(self.content))",message="role must be User for an approval, a cancel or a revoke: only people decide",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (!has(self.inReplyTo) || has(self.content))",message="inReplyTo requires content: an approval names its task and tool call instead",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (!(has(self.approval) || has(self.cancel) || has(self.revoke)) || self.role != 'User' || has(self.user))",message="set user to your user name (kubectl auth whoami): an approval, a cancel or a revoke must contain the name of the person",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.role == 'User' || !has(self.user))",message="user requires role User: leave it out of the operator's messages",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.attachments) || (self.role == 'User' && has(self.content))",message="attachments require role User and content",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.attachments) || self.attachments.map(a, has(a.data) ? size(a.data) * 3 / 4 - (a.data.endsWith('==') ? 2 : a.data.endsWith('=') ? 1 : 0) : 0).sum() <= 524288",message="the attachments of a message have at most 512 KiB together",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !(has(self.revoke) || (has(self.approval) && has(self.approval.allow))) || has(self.chat)",message="allow and revoke require chat: an allowance is valid for one chat",optionalOldSelf=true
type AgentMessageSpec struct {
	// chat is the AgentChat that the message belongs to.
	// +optional
	Chat Name `json:"chat,omitempty"`
	// task is the standalone AgentTask that the message is for. On a chat's message, which only the operator writes with it, it is the
	// AgentTask that the message is about.
	// +optional
	Task Name `json:"task,omitempty"`
	// role is the author of the message. Only the operator may write Assistant and System messages.
	// +optional
	// +default="User"
	Role MessageRole `json:"role,omitempty"`
	// user is the user name of the person who writes the message, and must be the user who creates it. It is required
	// for an approval, a cancel and a revoke, because the ledger records who decided.
	// +optional
	User UserName `json:"user,omitempty"`
	// fireUser is the user name of the person who fired the trigger of the message, whose author is user. The operator sets it.
	// +optional
	FireUser UserName `json:"fireUser,omitempty"`
	// contentLabels are the content labels of the message besides those of its attachments. A trigger sets untrusted if the text comes
	// from outside.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	ContentLabels []ContentLabel `json:"contentLabels,omitempty"`
	// content is the text.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Content string `json:"content,omitempty"`
	// attachments are images and texts that belong to content, together at most 512 KiB. Texts become part of the
	// message; images are shown to models that accept them, and described to others.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Attachments []Attachment `json:"attachments,omitempty"`
	// approval decides a tool call that waits for a person.
	// +optional
	Approval *Approval `json:"approval,omitempty"`
	// cancel stops a task, or all the work of the chat or task.
	// +optional
	Cancel *Cancel `json:"cancel,omitempty"`
	// revoke ends an allowance of the chat. Calls that it has approved stay approved.
	// +optional
	Revoke *Revoke `json:"revoke,omitempty"`
	// inReplyTo is the message that this one answers. A user's reply to a posted question goes to the agent that asked it.
	// +optional
	InReplyTo MessageName `json:"inReplyTo,omitempty"`
}

// StandaloneTask returns the standalone task that the message is for. It is empty for a message of a chat.
func (s *AgentMessageSpec) StandaloneTask() Name {
	if s.Chat != "" {
		return ""
	}
	return s.Task
}

// Attachment is an image or a text that belongs to a message.
// +kubebuilder:validation:XValidation:rule="has(self.data) != has(self.configMapKeyRef)",message="set exactly one of data and configMapKeyRef"
type Attachment struct {
	// name is the name that the model and people see, usually a file name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\pC/`]+$')",message="must be a file name without '/', '`' and control characters"
	Name string `json:"name"`
	// mediaType is image/png, image/jpeg, image/gif, image/webp, application/json, application/yaml or text/ with any subtype.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^(image/(png|jpeg|gif|webp)|application/(json|yaml)|text/[a-z0-9.+-]+)$')",message="must be image/png, image/jpeg, image/gif, image/webp, application/json, application/yaml or a text type such as text/plain, without parameters"
	MediaType string `json:"mediaType"`
	// data is the content, in base64 without line breaks.
	// +optional
	// +kubebuilder:validation:MinLength=4
	// +kubebuilder:validation:MaxLength=699052
	// +kubebuilder:validation:Format=""
	// +kubebuilder:validation:Pattern="^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
	Data []byte `json:"data,omitempty"`
	// configMapKeyRef is a key of a ConfigMap in this namespace with the content. The ConfigMap must have the label
	// nestor.dev/attachment: "true", and the author of the message must have the right to get it.
	// +optional
	ConfigMapKeyRef *ConfigMapKeyRef `json:"configMapKeyRef,omitempty"`
}

// MessageRole is the author of a message.
// +kubebuilder:validation:Enum=User;Assistant;System
type MessageRole string

// The authors of messages.
const (
	// RoleUser is a person.
	RoleUser MessageRole = "User"
	// RoleAssistant is the orchestrator, or an agent that asks through it.
	RoleAssistant MessageRole = "Assistant"
	// RoleSystem is the operator itself.
	RoleSystem MessageRole = "System"
)

// Decision is a person's decision about a tool call.
// +kubebuilder:validation:Enum=Approve;Deny
type Decision string

// The decisions about a tool call.
const (
	// DecisionApprove allows the call to run.
	DecisionApprove Decision = "Approve"
	// DecisionDeny denies the call; the model gets the denial as its result.
	DecisionDeny Decision = "Deny"
)

// Approval decides exactly one tool call, and with allow also later ones of the chat.
// +kubebuilder:validation:XValidation:rule="!has(self.allow) || self.decision == 'Approve'",message="allow requires decision Approve: a denial applies to one call"
// +kubebuilder:validation:XValidation:rule="!has(self.arguments) || self.decision == 'Approve'",message="arguments require decision Approve: a call that is denied gets none"
// +kubebuilder:validation:XValidation:rule="!has(self.arguments) || has(self.argumentsDigest)",message="arguments require argumentsDigest: copy the digest of the call that they change from status.waiting of the chat or task"
// +kubebuilder:validation:XValidation:rule="!has(self.arguments) || !has(self.allow)",message="set only one of arguments and allow: an allowance is for calls as the model makes them"
type Approval struct {
	// task is the AgentTask whose call waits.
	// +required
	Task Name `json:"task"`
	// toolCall is the id of the call. Omit it for a task of type Tool, which is a single call.
	// +optional
	ToolCall ToolCallID `json:"toolCall,omitempty"`
	// argumentsDigest is the digest of the call that the person was shown, from status.waiting of the chat or task; a
	// decision with a different digest is rejected. Without a digest, the decision applies to the call in toolCall,
	// whatever its arguments are.
	// +optional
	ArgumentsDigest ArgumentsDigest `json:"argumentsDigest,omitempty"`
	// decision is Approve or Deny.
	// +required
	Decision Decision `json:"decision"`
	// arguments replace those of the call, if approval.editable of the role allows it: a JSON object as text, of at most 32768 bytes,
	// which the tool gets as it is. ToolPolicies judge the call again.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32768
	Arguments string `json:"arguments,omitempty"`
	// comment is passed on to the model.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Comment string `json:"comment,omitempty"`
	// allow makes the approval a standing one: it also approves later calls of the same tool in this chat, until it is revoked. It
	// approves no call of a role with approval.denyRequesters.
	// +optional
	Allow *Allow `json:"allow,omitempty"`
}

// Allow describes the calls that an allowance approves: those of the approved call's tool whose arguments match.
type Allow struct {
	// arguments restricts the calls: each of these arguments must be text that matches its pattern. Without it, the
	// allowance approves every call of the tool.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=4
	Arguments []ArgumentPattern `json:"arguments,omitempty"`
}

// ArgumentPattern restricts one argument of a tool call.
type ArgumentPattern struct {
	// name is the name of the argument.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9._-]+$')",message="must be the name of an argument: letters, digits, '.', '_' and '-'"
	Name string `json:"name"`
	// pattern is the text that the argument must have, in which * stands for any characters except control
	// characters, the backquote and ; & | < > $, and a backslash makes the next character literal. A pattern with *
	// matches no text with the path segment "..".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Pattern string `json:"pattern"`
}

// Revoke ends an allowance.
type Revoke struct {
	// allowance is the name of the allowance in status.allowances of the chat: the name of the AgentMessage that made it.
	// +required
	Allowance MessageName `json:"allowance"`
}

// Cancel stops work.
type Cancel struct {
	// task is the AgentTask to cancel. If absent or empty, all the work of the chat or task is cancelled.
	// +optional
	// +default=""
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || !format.dns1123Label().validate(self).hasValue()",message="must be a name: lowercase letters, digits and '-', beginning and ending with a letter or digit; or leave it empty to cancel everything"
	Task string `json:"task,omitempty"`
}

// MessagePhase is the phase of a message.
// +kubebuilder:validation:Enum=Pending;Handled;Rejected
type MessagePhase string

// The phases of a message.
const (
	// MessagePending: it has not been handled yet.
	MessagePending MessagePhase = "Pending"
	// MessageHandled: it became part of a turn, or its answer, decision or cancel took effect.
	MessageHandled MessagePhase = "Handled"
	// MessageRejected: it could not take effect; reason has the cause.
	MessageRejected MessagePhase = "Rejected"
)

// AgentMessageStatus is the observed state of a message.
type AgentMessageStatus struct {
	// phase is Pending, Handled or Rejected.
	// +optional
	Phase MessagePhase `json:"phase,omitempty"`
	// reason is a one-word reason for the phase.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z]*$`
	Reason string `json:"reason,omitempty"`
	// preview is the beginning of the message in one line, for lists: its text, decision or cancel, and why it was rejected.
	// +optional
	// +kubebuilder:validation:MaxLength=48
	Preview string `json:"preview,omitempty"`
	// conditions contains Succeeded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AgentMessage is one message of a chat or a standalone task: a text, an approval, a cancel or a revoke.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=amsg,categories=nestor
// +kubebuilder:printcolumn:name="Chat",type=string,JSONPath=`.spec.chat`
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=`.spec.role`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Text",type=string,JSONPath=`.status.preview`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`,priority=1
// +kubebuilder:printcolumn:name="Decision",type=string,JSONPath=`.spec.approval.decision`,priority=1
// +kubebuilder:printcolumn:name="Task",type=string,JSONPath=`.spec.task`,priority=1
// +kubebuilder:printcolumn:name="Reply to",type=string,JSONPath=`.spec.inReplyTo`,priority=1
// +kubebuilder:printcolumn:name="Content",type=string,JSONPath=`.spec.content`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AgentMessage struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is the content of the message: a text, an approval, a cancel or a revoke. It is immutable.
	// +required
	Spec AgentMessageSpec `json:"spec,omitzero"`
	// status is the observed state of the message.
	// +optional
	// +structType=atomic
	Status AgentMessageStatus `json:"status,omitzero"`
}

// AgentMessageList is a list of messages.
//
// +kubebuilder:object:root=true
type AgentMessageList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []AgentMessage `json:"items"`
}
