// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// ModelCallSpec is what was asked of a model.
type ModelCallSpec struct {
	// agent is the UID of the agent, and of its transcript.
	// +required
	Agent types.UID `json:"agent"`
	// seq is the event of the agent that led to the call.
	// +optional
	Seq int64 `json:"seq,omitempty"`
	// parent is the name of the ModelCall whose reply asked for the agent; absent for a chat and a standalone task.
	// +optional
	Parent string `json:"parent,omitempty"`
	// chat is the name of the chat; absent for a standalone task and what belongs to it.
	// +optional
	Chat string `json:"chat,omitempty"`
	// role is the name of the agent's role.
	// +optional
	Role string `json:"role,omitempty"`
	// depth is how deep in the tree the agent is.
	// +optional
	Depth int32 `json:"depth,omitempty"`
	// modelProvider is the provider that was asked.
	// +optional
	ModelProvider string `json:"modelProvider,omitempty"`
	// model is the model that was asked.
	// +optional
	Model string `json:"model,omitempty"`
	// purpose is turn for a step of the work, last-words for the last answer at a limit, compact for a summary.
	// +optional
	Purpose string `json:"purpose,omitempty"`
	// attempt counts the tries of the same call from 1.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// iteration is the iteration of the agent, or of the orchestrator's turn.
	// +optional
	Iteration int32 `json:"iteration,omitempty"`
	// maxIterations is the limit that held; absent without one.
	// +optional
	MaxIterations int32 `json:"maxIterations,omitempty"`
	// contextMode is what of its parent's conversation the agent was given: None, Summary, Full or Selective; absent for a chat.
	// +optional
	ContextMode string `json:"contextMode,omitempty"`
	// files are the context files that the agent was given.
	// +optional
	// +listType=atomic
	Files []string `json:"files,omitempty"`
	// contextTokens is about how large the request was.
	// +optional
	ContextTokens *int64 `json:"contextTokens,omitempty"`
	// request is the body that was sent; a list leaves it out.
	// +optional
	Request *runtime.RawExtension `json:"request,omitempty"`
}

// ModelCallStatus is what came of a model call.
type ModelCallStatus struct {
	// phase is Live until the call has ended, then how it ended.
	// +required
	Phase Phase `json:"phase"`
	// startTime is when the call was decided; it may have waited for its turn.
	// +optional
	StartTime metav1.MicroTime `json:"startTime,omitzero"`
	// completionTime is when it ended.
	// +optional
	CompletionTime *metav1.MicroTime `json:"completionTime,omitempty"`
	// durationMillis is the time between the two.
	// +optional
	DurationMillis *int64 `json:"durationMillis,omitempty"`
	// usage is what the call used; absent where the provider did not say.
	// +optional
	Usage *TokenUsage `json:"usage,omitempty"`
	// summary is the text of the reply.
	// +optional
	Summary string `json:"summary,omitempty"`
	// toolCalls are the names of the tools that the model asked for.
	// +optional
	// +listType=atomic
	ToolCalls []string `json:"toolCalls,omitempty"`
	// limit is the limit of the agent that stopped the call, that its reply reached, or that made it the last one, such as
	// IterationLimit.
	// +optional
	Limit string `json:"limit,omitempty"`
	// error is what went wrong, in the provider's words.
	// +optional
	Error string `json:"error,omitempty"`
	// response is the body of the reply; a list leaves it out.
	// +optional
	Response *runtime.RawExtension `json:"response,omitempty"`
}

// ModelCall is one request to a model.
//
// +kubebuilder:object:root=true
type ModelCall struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is what was asked.
	// +required
	Spec ModelCallSpec `json:"spec"`
	// status is what came of it.
	// +required
	Status ModelCallStatus `json:"status"`
}

// ModelCallList is a list of model calls without their bodies, in the order in which they started.
//
// +kubebuilder:object:root=true
type ModelCallList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ModelCall `json:"items"`
}
