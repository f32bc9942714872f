// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Phase is how far an agent or a model call has come.
// +enum
type Phase string

// How far an agent or a model call has come.
const (
	// PhaseLive: it has not ended. A chat is live until it is deleted.
	PhaseLive Phase = "Live"
	// PhaseSuccess: it ended with a result.
	PhaseSuccess Phase = "Success"
	// PhaseFailed: it ended without success, or reached a limit.
	PhaseFailed Phase = "Failed"
	// PhaseCancelled: a person, a parent or a deletion stopped it.
	PhaseCancelled Phase = "Cancelled"
	// PhaseTimedOut: its time was up.
	PhaseTimedOut Phase = "TimedOut"
	// PhaseUnknown: it was interrupted, and nobody can tell how it ended.
	PhaseUnknown Phase = "Unknown"
)

// TranscriptAgent says whose transcript it is. The object may be gone.
type TranscriptAgent struct {
	// kind is AgentChat, SubAgent, or AgentTask for a tool run.
	// +required
	Kind string `json:"kind"`
	// name is the name of the object.
	// +required
	Name string `json:"name"`
	// uid is the UID of the object, and of the transcript.
	// +required
	UID types.UID `json:"uid"`
	// parent is the UID of the transcript of the agent that asked for this one; absent at the top of a tree.
	// +optional
	Parent types.UID `json:"parent,omitempty"`
	// root is the UID of the transcript at the top of the tree, which is its own at the top.
	// +required
	Root types.UID `json:"root"`
	// chat is the name of the chat; absent for a standalone task and what belongs to it.
	// +optional
	Chat string `json:"chat,omitempty"`
	// role is the name of the agent's role.
	// +optional
	Role string `json:"role,omitempty"`
	// depth is 0 for a chat, 1 for what it delegates to or for a standalone task, and so on.
	// +optional
	Depth int32 `json:"depth,omitempty"`
	// modelProvider is the provider that the agent was created with.
	// +optional
	ModelProvider string `json:"modelProvider,omitempty"`
	// model is the model that the agent was created with.
	// +optional
	Model string `json:"model,omitempty"`
}

// TranscriptStatus is how far the agent has come.
type TranscriptStatus struct {
	// phase is Live until the agent has ended, then how it ended.
	// +required
	Phase Phase `json:"phase"`
	// errorKind says why the agent ended without success, in the words of SubAgent's status.error.kind.
	// +optional
	ErrorKind string `json:"errorKind,omitempty"`
	// lastSeq is the seq of the newest event. Not every event is an entry.
	// +optional
	LastSeq int64 `json:"lastSeq,omitempty"`
	// startTime is when the agent began.
	// +optional
	StartTime metav1.MicroTime `json:"startTime,omitzero"`
	// completionTime is when it ended, one way or another.
	// +optional
	CompletionTime *metav1.MicroTime `json:"completionTime,omitempty"`
	// usage is what the model calls of the agent itself came to; those of its children are theirs.
	// +optional
	Usage *CallUsage `json:"usage,omitempty"`
	// toolCalls counts the tools that the agent ran.
	// +optional
	ToolCalls int64 `json:"toolCalls,omitempty"`
}

// Transcript is what one agent heard, said and did: the orchestrator of a chat, a sub-agent or a tool run. Its
// metadata.creationTimestamp is when the agent began.
//
// +kubebuilder:object:root=true
type Transcript struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// agent says whose transcript it is.
	// +required
	Agent TranscriptAgent `json:"agent"`
	// status is how far the agent has come.
	// +required
	Status TranscriptStatus `json:"status"`
	// entries are a page of the transcript, in order; a list has none.
	// +optional
	// +listType=atomic
	Entries []Entry `json:"entries,omitempty"`
	// next is the since of the next page. It is absent when this page reaches the newest entry.
	// +optional
	Next *int64 `json:"next,omitempty"`
}

// TranscriptList is a list of transcripts without their entries, the oldest first.
//
// +kubebuilder:object:root=true
type TranscriptList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Transcript `json:"items"`
}
