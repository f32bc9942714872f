// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DropReason is the reason why a firing started no work.
// +kubebuilder:validation:Enum=Active;TooManyActive;TooManyObjects;Missed;ExpressionFailed;TooLarge;Refused;NameTaken
type DropReason string

// The reasons of dropped firings.
const (
	// DropActive: concurrencyPolicy is Forbid, and work of an earlier firing is active.
	DropActive DropReason = "Active"
	// DropTooManyActive: 100 tasks of the trigger are active.
	DropTooManyActive DropReason = "TooManyActive"
	// DropTooManyObjects: when is true for more objects than the trigger can remember.
	DropTooManyObjects DropReason = "TooManyObjects"
	// DropMissed: the time of the schedule was missed, and startingDeadlineSeconds has passed or a newer time fires.
	DropMissed DropReason = "Missed"
	// DropExpressionFailed: an expression failed for this firing.
	DropExpressionFailed DropReason = "ExpressionFailed"
	// DropTooLarge: the rendered task or message is too large.
	DropTooLarge DropReason = "TooLarge"
	// DropRefused: the API server refused the rendered task or message as invalid.
	DropRefused DropReason = "Refused"
	// DropNameTaken: the name of the task or message belongs to another object.
	DropNameTaken DropReason = "NameTaken"
)

// DroppedFiring is a firing that started no work.
type DroppedFiring struct {
	// id is the id of the firing.
	// +required
	// +kubebuilder:validation:MaxLength=256
	ID string `json:"id"`
	// time is the time when it was dropped.
	// +required
	Time metav1.Time `json:"time"`
	// reason is a machine-readable explanation.
	// +required
	Reason DropReason `json:"reason"`
	// message is a human-readable explanation.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// PendingFiring is a firing that is recorded and whose task or message is not confirmed.
type PendingFiring struct {
	// id is the id of the firing.
	// +required
	// +kubebuilder:validation:MaxLength=256
	ID string `json:"id"`
	// time is the time when it was recorded.
	// +required
	Time metav1.Time `json:"time"`
	// name is the name of the task or message.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]*$`
	Name string `json:"name"`
	// kind is AgentTask or AgentMessage.
	// +required
	Kind TargetKind `json:"kind"`
	// uid is the UID of the created object. It is written before the work may start, and makes every other object a
	// duplicate.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]*$`
	UID string `json:"uid,omitempty"`
	// object is the watched object that the end of the work is reported to.
	// +optional
	Object *WatchedObject `json:"object,omitempty"`
	// target is the spec of the task or message: JSON, compressed with gzip. It is absent when uid is known.
	// +optional
	// +kubebuilder:validation:MaxLength=40960
	Target []byte `json:"target,omitempty"`
}

// WatchedObject identifies an object that a trigger watches.
type WatchedObject struct {
	// apiVersion is the group and version of the object.
	// +required
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9./-]*$`
	APIVersion string `json:"apiVersion"`
	// kind is the kind of the object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9-]*$`
	Kind string `json:"kind"`
	// name is the name of the object.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	Name string `json:"name"`
	// uid is the UID of the object.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	UID string `json:"uid"`
}

// TargetKind is the kind of object that a firing creates.
// +kubebuilder:validation:Enum=AgentTask;AgentMessage
type TargetKind string

// The kinds of objects that firings create.
const (
	// TargetTask: a firing creates a standalone task.
	TargetTask TargetKind = "AgentTask"
	// TargetMessage: a firing creates a message to a chat.
	TargetMessage TargetKind = "AgentMessage"
)

// AgentTriggerStatus is the observed state of a trigger, and its record of firings.
type AgentTriggerStatus struct {
	// observedGeneration is the generation of the spec that is in effect; -1 until the operator has checked the object.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// lastFiredTime is the time when the trigger last fired.
	// +optional
	LastFiredTime *metav1.Time `json:"lastFiredTime,omitempty"`
	// lastScheduleTime is the newest time of the schedule that fired or was dropped. No earlier time fires again.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
	// nextScheduleTime is the time when the schedule fires next. It is absent while the trigger is suspended.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`
	// active are the names of the tasks that have not ended, or of the messages that were not handled, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Active []Name `json:"active,omitempty"`
	// firings is the number of firings that started work.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Firings int64 `json:"firings,omitempty"`
	// dropped is the number of firings that started no work.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Dropped int64 `json:"dropped,omitempty"`
	// lastDrop is the newest firing that started no work.
	// +optional
	LastDrop *DroppedFiring `json:"lastDrop,omitempty"`
	// pending are firings that are recorded and whose task or message is not confirmed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Pending []PendingFiring `json:"pending,omitempty"`
	// recentKeys are hashes of the ids and keys of recent firings, with the time until which they are remembered.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	RecentKeys []RecentKey `json:"recentKeys,omitempty"`
	// latched are hashes of the UIDs of the objects for which watch.when is true. The trigger fires for them again only
	// after it was false.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	Latched []ObjectHash `json:"latched,omitempty"`
	// lastFireID is the id of the newest firing by a person.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	LastFireID string `json:"lastFireID,omitempty"`
	// observedSchedule is the cron schedule and time zone that scheduleStartTime is about; it is empty while the trigger
	// is suspended.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ObservedSchedule string `json:"observedSchedule,omitempty"`
	// scheduleStartTime is since when the schedule applies: no earlier time fires.
	// +optional
	ScheduleStartTime *metav1.Time `json:"scheduleStartTime,omitempty"`
	// conditions contains Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
