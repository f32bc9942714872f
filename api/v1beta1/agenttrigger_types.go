// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Expression is an expression in the Common Expression Language (CEL).
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=2048
type Expression = string

// RecentKey is a hash and the Unix time until which the operator remembers it.
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^[0-9a-z:]*$`
type RecentKey = string

// ObjectHash is a hash of the UID of an object.
// +kubebuilder:validation:MaxLength=16
// +kubebuilder:validation:Pattern=`^[0-9a-z]*$`
type ObjectHash = string

// AgentTriggerSpec starts work at times, for webhooks, or when objects change. It has one source and one target.
// +kubebuilder:validation:XValidation:rule="[has(self.schedule), has(self.webhook), has(self.watch)].exists_one(set, set)",message="set exactly one of schedule, webhook and watch"
// +kubebuilder:validation:XValidation:rule="has(self.task) != has(self.message)",message="set exactly one of task and message"
// +kubebuilder:validation:XValidation:rule="!has(self.message) || !has(self.notify)",message="notify is for the tasks of a trigger: set it on the AgentChat that gets the message",fieldPath=".notify"
// +kubebuilder:validation:XValidation:rule="!has(self.message) || self.concurrencyPolicy != 'Replace'",message="concurrencyPolicy Replace cancels tasks, and a message cannot be cancelled: use Allow or Forbid, or set task",fieldPath=".concurrencyPolicy"
type AgentTriggerSpec struct {
	// suspend stops the trigger: nothing fires while it is true. Work that was started before continues.
	// +optional
	// +default=false
	Suspend bool `json:"suspend,omitempty"`
	// schedule fires at the times given by a cron expression.
	// +optional
	Schedule *TriggerSchedule `json:"schedule,omitempty"`
	// webhook fires for HTTP requests to the gateway, at /hooks/NAMESPACE/NAME.
	// +optional
	Webhook *TriggerWebhook `json:"webhook,omitempty"`
	// watch fires when objects of the trigger's namespace change.
	// +optional
	Watch *TriggerWatch `json:"watch,omitempty"`
	// dedupKey is a CEL expression for a key: of firings with the same key within dedupSeconds, only the first starts
	// work. The result may be of any type.
	// +optional
	DedupKey Expression `json:"dedupKey,omitempty"`
	// dedupSeconds is how long a key is remembered.
	// +optional
	// +default=3600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	DedupSeconds int32 `json:"dedupSeconds,omitempty"`
	// concurrencyPolicy determines what a firing does while work of an earlier one is active: Allow starts it beside that
	// (at most 100 at a time), Forbid drops the firing, and Replace cancels the active work first.
	// +optional
	// +default="Allow"
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// task is the template of the standalone AgentTask that a firing creates.
	// +optional
	Task *TriggerTask `json:"task,omitempty"`
	// message is the template of the AgentMessage that a firing creates.
	// +optional
	Message *TriggerMessage `json:"message,omitempty"`
	// successfulTasksHistoryLimit is the number of the trigger's successful tasks to keep; older ones are deleted.
	// +optional
	// +default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SuccessfulTasksHistoryLimit *int32 `json:"successfulTasksHistoryLimit,omitempty"`
	// failedTasksHistoryLimit is the number of the trigger's failed and cancelled tasks to keep; older ones are deleted.
	// +optional
	// +default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	FailedTasksHistoryLimit *int32 `json:"failedTasksHistoryLimit,omitempty"`
	// user is the user name of the author of the trigger, who requests its work, and must be the user who writes the
	// spec. It is copied to the tasks and messages of the trigger; a person who fires the trigger is a second
	// requester.
	// +optional
	User UserName `json:"user,omitempty"`
	// trusted exempts the requests and objects that fire the trigger from the content label untrusted. To set it, or to
	// change the spec while it is set, a user needs the verb trust on this AgentTrigger.
	// +optional
	Trusted bool `json:"trusted,omitempty"`
	// contentLabels are further content labels of the requests and objects that fire the trigger.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	ContentLabels []ContentLabel `json:"contentLabels,omitempty"`
	// notify are receivers of notifications about the tasks of the trigger. A change applies to later firings.
	// +optional
	// +listType=atomic
	Notify NotifyReceivers `json:"notify,omitempty"`
}

// ConcurrencyPolicy determines what a firing does while work of an earlier one is active.
// +kubebuilder:validation:Enum=Allow;Forbid;Replace
type ConcurrencyPolicy string

// The concurrency policies.
const (
	// ConcurrencyAllow starts work beside the active work.
	ConcurrencyAllow ConcurrencyPolicy = "Allow"
	// ConcurrencyForbid drops a firing while work is active.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyReplace cancels the active work and starts new work.
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
)

// TriggerSchedule fires at the times given by a cron expression.
type TriggerSchedule struct {
	// cron is a schedule with five fields: minute, hour, day of the month, month and day of the week; or @hourly, @daily,
	// @midnight, @weekly, @monthly, @yearly or @annually.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.startsWith('@') ? self in ['@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually'] : self.matches('^[^[:space:]=]+( +[^[:space:]=]+){4}$')",message="must have five fields (minute, hour, day, month, day of the week), for example '0 7 * * 1-5', or be @hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually; the time zone goes into timeZone"
	Cron string `json:"cron"`
	// timeZone is the name of a time zone, for example Europe/Berlin. Defaults to UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9_+/-]*$') && self != 'Local'",message="must be the name of a time zone, for example Europe/Berlin or Etc/UTC"
	TimeZone string `json:"timeZone,omitempty"`
	// startingDeadlineSeconds is how late a firing may start, for example after the operator was down; of several
	// missed times only the newest fires. If absent, there is no deadline.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	StartingDeadlineSeconds *int32 `json:"startingDeadlineSeconds,omitempty"`
}

// WebhookFormat is the format of the requests of a webhook.
// +kubebuilder:validation:Enum=Generic;GitHub;Alertmanager;CloudEvents
type WebhookFormat string

// The formats of webhooks.
const (
	// WebhookGeneric is any JSON object, with the token in the header Authorization.
	WebhookGeneric WebhookFormat = "Generic"
	// WebhookGitHub is a GitHub event, signed with X-Hub-Signature-256.
	WebhookGitHub WebhookFormat = "GitHub"
	// WebhookAlertmanager is a notification of Prometheus Alertmanager.
	WebhookAlertmanager WebhookFormat = "Alertmanager"
	// WebhookCloudEvents is a CloudEvent in structured or binary mode.
	WebhookCloudEvents WebhookFormat = "CloudEvents"
)

// TriggerWebhook fires for HTTP requests.
type TriggerWebhook struct {
	// format is Generic, GitHub, Alertmanager or CloudEvents.
	// +optional
	// +default="Generic"
	Format WebhookFormat `json:"format,omitempty"`
	// secretKeyRef is the key of a Secret with the token of the requests, or with the key of their signature.
	// +required
	SecretKeyRef SecretKeyRef `json:"secretKeyRef"`
	// when is a CEL expression over body and headers: only requests for which it is true fire.
	// +optional
	When Expression `json:"when,omitempty"`
}

// TriggerWatch fires when objects of the trigger's namespace change.
// +kubebuilder:validation:XValidation:rule="!(self.apiVersion == 'v1' && self.kind == 'Secret')",message="Secrets cannot be watched"
// +kubebuilder:validation:XValidation:rule="!self.apiVersion.startsWith('nestor.dev/')",message="Nestor's own objects cannot be watched: a firing would cause the next one"
type TriggerWatch struct {
	// apiVersion is the API version of the objects, for example v1 or apps/v1.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?v[a-z0-9]+$')",message="must be an API version, for example v1 or apps/v1"
	APIVersion string `json:"apiVersion"`
	// kind is the kind of the objects, for example Pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][A-Za-z0-9]*$')",message="must be a kind, for example Pod"
	Kind string `json:"kind"`
	// selector matches the labels of the objects. If absent, all objects of the kind are watched.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// when is a CEL expression over object and oldObject; the trigger fires for an object when it becomes true.
	// oldObject is null if the operator has not read the object before, for example after a restart.
	// +required
	When Expression `json:"when"`
	// report selects where the end of a task is reported in addition to its status: None, or Event for an Event of the
	// watched object with the summary of the result, or with the error.
	// +optional
	// +default="None"
	Report TriggerReport `json:"report,omitempty"`
}

// TriggerReport selects where the end of a task is reported.
// +kubebuilder:validation:Enum=None;Event
type TriggerReport string

// The reports of triggers.
const (
	// ReportNone: only the status of the task has the result.
	ReportNone TriggerReport = "None"
	// ReportEvent: an Event of the watched object has the summary of the result, or the error.
	ReportEvent TriggerReport = "Event"
)

// TriggerTask is the template of a standalone task. Text may contain {{ CEL }}: in instruction, in successCriteria, in
// the strings of arguments, and in workspace.git.ref.
// +kubebuilder:validation:XValidation:rule="has(self.instruction) || has(self.arguments)",message="set instruction, or arguments if the role has an inputSchema"
type TriggerTask struct {
	// role is the AgentRole of the agent that does the work.
	// +required
	Role Name `json:"role"`
	// instruction is the work that the agent should do.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Instruction string `json:"instruction,omitempty"`
	// arguments are the input of a role that has an inputSchema. A string that is exactly one {{ CEL }} becomes the value
	// of the expression, of any type.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=128
	Arguments *runtime.RawExtension `json:"arguments,omitempty"`
	// successCriteria describes when the work is done.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	SuccessCriteria string `json:"successCriteria,omitempty"`
	// limits may only tighten those of the role.
	// +optional
	Limits *TaskLimits `json:"limits,omitempty"`
	// modelProvider is the ModelProvider of the task, as in AgentTask.
	// +optional
	ModelProvider Name `json:"modelProvider,omitempty"`
	// model is the model of the task, as in AgentTask.
	// +optional
	Model ModelName `json:"model,omitempty"`
	// workspace gives the task files to work on. git.ref may contain {{CEL}}, without spaces.
	// +optional
	Workspace *Workspace `json:"workspace,omitempty"`
	// outputSchema is the JSON schema of the data that the agent submits with its result, as in AgentTask.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	OutputSchema *runtime.RawExtension `json:"outputSchema,omitempty"`
	// ttlSecondsAfterFinished is how long a task is kept after it finished, as in AgentTask. If absent, the history limits
	// of the trigger decide alone.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// TriggerMessage is the template of a message to a chat.
type TriggerMessage struct {
	// chat is the AgentChat that gets the message.
	// +required
	Chat Name `json:"chat"`
	// content is the text. It may contain {{ CEL }}.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Content string `json:"content"`
}

// AgentTrigger starts work automatically: at the times of a schedule, for webhooks, or when objects change. A firing
// creates one AgentTask or one AgentMessage, once, even if the operator restarts.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=atrig,categories=nestor
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule.cron`
// +kubebuilder:printcolumn:name="Webhook",type=string,JSONPath=`.spec.webhook.format`
// +kubebuilder:printcolumn:name="Watch",type=string,JSONPath=`.spec.watch.kind`
// +kubebuilder:printcolumn:name="Suspend",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastFiredTime`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextScheduleTime`
// +kubebuilder:printcolumn:name="Firings",type=integer,JSONPath=`.status.firings`
// +kubebuilder:printcolumn:name="Dropped",type=integer,JSONPath=`.status.dropped`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.active`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="metadata.name must have at most 63 characters and no dots: it becomes a label of its tasks"
type AgentTrigger struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is the source of the firings, and what they start.
	// +required
	Spec AgentTriggerSpec `json:"spec,omitzero"`
	// status is the observed state, and the record of the firings.
	// +optional
	// +default={"observedGeneration": -1}
	// +structType=atomic
	Status AgentTriggerStatus `json:"status,omitzero"`
}

// AgentTriggerList is a list of triggers.
//
// +kubebuilder:object:root=true
type AgentTriggerList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []AgentTrigger `json:"items"`
}
