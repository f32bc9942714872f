// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Phase is the phase of an agent or a model call.
// +enum
type Phase string

// The phases of an agent or a model call.
const (
	// PhaseLive: it has not ended. A chat is live until it is deleted.
	PhaseLive Phase = "Live"
	// PhaseSuccess: it ended with a result.
	PhaseSuccess Phase = "Success"
	// PhaseFailed: it ended without success, or reached a limit.
	PhaseFailed Phase = "Failed"
	// PhaseCancelled: a person, a parent or a deletion stopped it.
	PhaseCancelled Phase = "Cancelled"
	// PhaseTimedOut: it exceeded its time limit.
	PhaseTimedOut Phase = "TimedOut"
	// PhaseUnknown: it was interrupted, and its outcome is unknown.
	PhaseUnknown Phase = "Unknown"
)

// TranscriptAgent identifies the agent of a transcript. The object may have been deleted.
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
	// parent is the UID of the transcript of the parent agent; absent at the top of a tree.
	// +optional
	Parent types.UID `json:"parent,omitempty"`
	// root is the UID of the transcript at the top of the tree; the root itself has its own UID.
	// +required
	Root types.UID `json:"root"`
	// chat is the name of the chat; absent for a standalone task and everything below it.
	// +optional
	Chat string `json:"chat,omitempty"`
	// role is the name of the agent's role.
	// +optional
	Role string `json:"role,omitempty"`
	// roleRevision is the revision of the role that the agent has: the digest of its prompt, includes, skills, tools and
	// model.
	// +optional
	RoleRevision string `json:"roleRevision,omitempty"`
	// depth is 0 for a chat, 1 for its children or for a standalone task, and so on.
	// +optional
	Depth int32 `json:"depth,omitempty"`
	// modelProvider is the provider that the agent was created with.
	// +optional
	ModelProvider string `json:"modelProvider,omitempty"`
	// model is the model that the agent was created with.
	// +optional
	Model string `json:"model,omitempty"`
}

// TranscriptStatus is the state of the agent.
type TranscriptStatus struct {
	// phase is Live until the agent has ended, then its outcome.
	// +required
	Phase Phase `json:"phase"`
	// errorKind is the reason why the agent ended without success, as in status.error.kind of a SubAgent.
	// +optional
	ErrorKind string `json:"errorKind,omitempty"`
	// lastSeq is the seq of the newest event. Not every event has an entry.
	// +optional
	LastSeq int64 `json:"lastSeq,omitempty"`
	// startTime is the time when the agent started.
	// +optional
	StartTime metav1.MicroTime `json:"startTime,omitzero"`
	// completionTime is the time when it ended, with or without success.
	// +optional
	CompletionTime *metav1.MicroTime `json:"completionTime,omitempty"`
	// usage is the usage of the agent's own model calls, without those of its children.
	// +optional
	Usage *CallUsage `json:"usage,omitempty"`
	// toolCalls is the number of tool calls that the agent ran.
	// +optional
	ToolCalls int64 `json:"toolCalls,omitempty"`
}

// Transcript is the history of one agent: its inputs, replies and tool calls. The agent is the orchestrator of a
// chat, a sub-agent or a tool run.
//
// +kubebuilder:object:root=true
type Transcript struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// agent identifies the agent of the transcript.
	// +required
	Agent TranscriptAgent `json:"agent"`
	// status is the state of the agent.
	// +required
	Status TranscriptStatus `json:"status"`
	// entries are a page of the transcript, in order; a list has none.
	// +optional
	// +listType=atomic
	Entries []Entry `json:"entries,omitempty"`
	// next is the since of the next page. It is absent if this page contains the newest entry.
	// +optional
	Next *int64 `json:"next,omitempty"`
	// matches are the newest three of the entries that a search finds, newest first. Only a list that is selected by
	// search has them.
	// +optional
	// +listType=atomic
	Matches []Match `json:"matches,omitempty"`
	// matchCount is the number of entries that a search finds.
	// +optional
	MatchCount int64 `json:"matchCount,omitempty"`
}

// Match is an entry that a search finds.
type Match struct {
	// seq is the position of the entry in the transcript.
	// +required
	Seq int64 `json:"seq"`
	// time is the time of the entry.
	// +required
	Time metav1.MicroTime `json:"time"`
	// kind is the kind of the entry.
	// +required
	Kind EntryKind `json:"kind"`
	// excerpt is the part of the entry around the words that were found, in pieces.
	// +required
	// +listType=atomic
	Excerpt []ExcerptPart `json:"excerpt"`
}

// ExcerptPart is a piece of an excerpt.
type ExcerptPart struct {
	// text is the text of the piece.
	// +required
	Text string `json:"text"`
	// match reports that the piece is a word of the search.
	// +optional
	Match bool `json:"match,omitempty"`
}

// TranscriptList is a list of transcripts without their entries, oldest first; the list of a search has those with the newest
// match first.
//
// +kubebuilder:object:root=true
type TranscriptList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Transcript `json:"items"`
}
