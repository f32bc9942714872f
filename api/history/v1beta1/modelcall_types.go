// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// ModelCallSpec is the request of a model call.
type ModelCallSpec struct {
	// agent is the UID of the agent, and of its transcript.
	// +required
	Agent types.UID `json:"agent"`
	// seq is the event of the agent that led to the call.
	// +optional
	Seq int64 `json:"seq,omitempty"`
	// parent is the name of the ModelCall whose reply started the agent; absent for a chat and a standalone task.
	// +optional
	Parent string `json:"parent,omitempty"`
	// chat is the name of the chat; absent for a standalone task and everything below it.
	// +optional
	Chat string `json:"chat,omitempty"`
	// role is the name of the agent's role.
	// +optional
	Role string `json:"role,omitempty"`
	// depth is the depth of the agent in its tree.
	// +optional
	Depth int32 `json:"depth,omitempty"`
	// modelProvider is the provider of the call.
	// +optional
	ModelProvider string `json:"modelProvider,omitempty"`
	// model is the model of the call.
	// +optional
	Model string `json:"model,omitempty"`
	// purpose is Turn for an iteration, PartialAnswer for the last answer at a limit, Compact and Context for summaries.
	// +optional
	Purpose string `json:"purpose,omitempty"`
	// attempt counts the attempts of the same call from 1.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// iteration is the iteration of the agent, or of the orchestrator's turn.
	// +optional
	Iteration int32 `json:"iteration,omitempty"`
	// maxIterations is the limit that applied; absent without one.
	// +optional
	MaxIterations int32 `json:"maxIterations,omitempty"`
	// contextMode is the part of its parent's conversation that the agent was shown: None, Summary, Full or Selective;
	// absent for a chat.
	// +optional
	ContextMode string `json:"contextMode,omitempty"`
	// files are the context files that the agent was shown.
	// +optional
	// +listType=atomic
	Files []string `json:"files,omitempty"`
	// contextTokens is the approximate size of the request.
	// +optional
	ContextTokens *int64 `json:"contextTokens,omitempty"`
	// request is the request in a form that is the same for all APIs of providers, with the parameters of the provider
	// that was asked first; status.sent of the ModelCall has those of the provider that answered. A list leaves it out.
	// +optional
	Request *runtime.RawExtension `json:"request,omitempty"`
}

// ModelCallStatus is the result of a model call.
type ModelCallStatus struct {
	// phase is Live until the call has ended, then its outcome.
	// +required
	Phase Phase `json:"phase"`
	// startTime is the time when the call was requested; it may have waited for its turn.
	// +optional
	StartTime metav1.MicroTime `json:"startTime,omitzero"`
	// completionTime is the time when it ended.
	// +optional
	CompletionTime *metav1.MicroTime `json:"completionTime,omitempty"`
	// durationMillis is the time between the two.
	// +optional
	DurationMillis *int64 `json:"durationMillis,omitempty"`
	// sent describes the HTTP request that was sent last, to the provider that answered; absent if nothing was sent.
	// +optional
	Sent *SentRequest `json:"sent,omitempty"`
	// usage is the usage of the call; absent if the provider did not report it.
	// +optional
	Usage *TokenUsage `json:"usage,omitempty"`
	// summary is the text of the reply.
	// +optional
	Summary string `json:"summary,omitempty"`
	// toolCalls are the names of the tools that the model called.
	// +optional
	// +listType=atomic
	ToolCalls []string `json:"toolCalls,omitempty"`
	// limit is the limit of the agent that stopped the call, that its reply reached, or that made it the last one, such as
	// IterationLimit.
	// +optional
	Limit string `json:"limit,omitempty"`
	// error is the provider's error.
	// +optional
	Error string `json:"error,omitempty"`
	// response is the reply in a form that is the same for all APIs; a list leaves it out.
	// +optional
	Response *runtime.RawExtension `json:"response,omitempty"`
}

// SentRequest describes an HTTP request to a provider. The parameters are those of that provider: after a fallback they
// differ from those in spec.request of the ModelCall.
type SentRequest struct {
	// bodyDigest is the SHA-256 of the HTTP body, in hexadecimal digits. The body itself is not kept: it is spec.request
	// of the ModelCall in the form of the provider's API, with the images, and without parameters that the provider
	// rejected.
	// +optional
	BodyDigest string `json:"bodyDigest,omitempty"`
	// model is the model that was requested.
	// +required
	Model string `json:"model"`
	// temperature was requested; absent for the provider's default.
	// +optional
	Temperature *float64 `json:"temperature,omitempty"`
	// maxOutputTokens bounds the reply; absent for the provider's default.
	// +optional
	MaxOutputTokens int64 `json:"maxOutputTokens,omitempty"`
	// reasoningEffort is how much the model should think; absent for the provider's default.
	// +optional
	ReasoningEffort string `json:"reasoningEffort,omitempty"`
	// textOnly means that images were replaced by notes.
	// +optional
	TextOnly bool `json:"textOnly,omitempty"`
}

// ModelCall is one request to a model.
//
// +kubebuilder:object:root=true
type ModelCall struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is the request.
	// +required
	Spec ModelCallSpec `json:"spec"`
	// status is the result.
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
