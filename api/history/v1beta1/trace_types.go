// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Trace shows what an agent did from its start to its end, or until now: segments in order, without gaps and without
// overlaps. It is computed from the agent's recorded events.
//
// +kubebuilder:object:root=true
type Trace struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// segments are a page of the trace. Each begins when the one before it ends.
	// +required
	// +listType=atomic
	Segments []Segment `json:"segments"`
	// next is the since of the next page. It is absent if this page contains the newest segment.
	// +optional
	Next *int64 `json:"next,omitempty"`
}

// SegmentKind is what an agent does, or what it waits for, during a segment.
// +enum
type SegmentKind string

// The kinds of segments. An agent waits for children only while none of its tools run, and for a person only while
// nothing else is in progress: such time does not count as time in which the agent is active.
const (
	// SegmentModel: a model call is in flight, or is about to start.
	SegmentModel SegmentKind = "Model"
	// SegmentTool: tools run.
	SegmentTool SegmentKind = "Tool"
	// SegmentQueue: it has work, but waits for a retry, a quota, a slot or an operator; see reason.
	SegmentQueue SegmentKind = "Queue"
	// SegmentUser: it waits for a person's decision or answer.
	SegmentUser SegmentKind = "User"
	// SegmentChildren: it waits for the agents that it started.
	SegmentChildren SegmentKind = "Children"
	// SegmentIdle: a chat without work, between two messages.
	SegmentIdle SegmentKind = "Idle"
)

// SegmentReason explains a kind.
// +enum
type SegmentReason string

// The reasons of the kinds Queue and User.
const (
	// SegmentRetry: a model call failed and will be repeated.
	SegmentRetry SegmentReason = "Retry"
	// SegmentQuota: a quota of the namespace does not allow the model call now.
	SegmentQuota SegmentReason = "Quota"
	// SegmentSlot: as many agents as allowed are active.
	SegmentSlot SegmentReason = "Slot"
	// SegmentRestart: the time until another operator took over. The agent may have worked in a part of it, which is
	// not recorded.
	SegmentRestart SegmentReason = "Restart"
	// SegmentHold: the configuration of the chat refers to something that does not exist, so that no turn begins.
	SegmentHold SegmentReason = "Hold"
	// SegmentPaused: the chat has reached a limit and waits for the next message of a person.
	SegmentPaused SegmentReason = "Paused"
	// SegmentApproval: a tool call needs a decision.
	SegmentApproval SegmentReason = "Approval"
	// SegmentQuestion: a question has no answer.
	SegmentQuestion SegmentReason = "Question"
)

// Segment is a part of a trace.
type Segment struct {
	// seq is the event that began the segment.
	// +required
	Seq int64 `json:"seq"`
	// endSeq is the event that ended it. It is absent while the segment lasts, and if the agent was deleted during it.
	// +optional
	EndSeq int64 `json:"endSeq,omitempty"`
	// kind is what the agent does, or waits for.
	// +required
	Kind SegmentKind `json:"kind"`
	// reason explains the kinds Queue and User.
	// +optional
	Reason SegmentReason `json:"reason,omitempty"`
	// startTime is the time when it began.
	// +required
	StartTime metav1.MicroTime `json:"startTime"`
	// endTime is the time when it ended; absent while it lasts.
	// +optional
	EndTime *metav1.MicroTime `json:"endTime,omitempty"`
	// modelCall is the name of the ModelCall in flight; for tool calls, that of the reply that requests them. The entry
	// with the reply has the endSeq of that call's last Model segment.
	// +optional
	ModelCall string `json:"modelCall,omitempty"`
	// toolCalls are the tool calls that run, or that wait for a person or for children.
	// +optional
	// +listType=atomic
	ToolCalls []SegmentCall `json:"toolCalls,omitempty"`
	// children are the names of the runs that the agent waits for.
	// +optional
	// +listType=atomic
	Children []string `json:"children,omitempty"`
}

// SegmentCall identifies a tool call.
type SegmentCall struct {
	// id is the id of the call, as in the entries of the transcript.
	// +required
	ID string `json:"id"`
	// tool is the name of the tool.
	// +required
	Tool string `json:"tool"`
}
