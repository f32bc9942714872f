// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The rules on baseURL stand on its struct: a refusal repeats the value of the field that its rule stands on, and this one may
// hold a password.

// ModelProviderSpec is an OpenAI-compatible endpoint and how much it may be used.
// +kubebuilder:validation:XValidation:rule="isURL(self.baseURL) && url(self.baseURL).getScheme() in ['http', 'https'] && size(url(self.baseURL).getHost()) > 0",message="must be an http or https URL, for example https://models.example.com/v1",fieldPath=".baseURL"
// +kubebuilder:validation:XValidation:rule="!self.baseURL.matches('^https?://[^/?#]*@')",message="must not contain a user or password: put the key into a Secret and name it in apiKeySecretRef",fieldPath=".baseURL"
type ModelProviderSpec struct {
	// baseURL is where the API begins, usually ending in /v1.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	BaseURL string `json:"baseURL"`
	// apiKeySecretRef is the key, in a Secret of this namespace. Absent: requests carry no key.
	// +optional
	APIKeySecretRef *SecretKeyRef `json:"apiKeySecretRef,omitempty"`
	// defaultModel answers agents whose chat and role name no model.
	// +optional
	DefaultModel ModelName `json:"defaultModel,omitempty"`
	// maxConcurrentRequests is how many requests may be under way at a time. Absent: 64.
	// +optional
	// +default=64
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxConcurrentRequests int32 `json:"maxConcurrentRequests,omitempty"`
	// requestsPerMinute is how many requests may begin in a minute. Absent: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RequestsPerMinute *int32 `json:"requestsPerMinute,omitempty"`
	// tokensPerMinute is how many tokens may be used in a minute. Absent: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TokensPerMinute *int64 `json:"tokensPerMinute,omitempty"`
	// requestTimeoutSeconds is how long one request may take. Absent: 300.
	// +optional
	// +default=300
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	RequestTimeoutSeconds int32 `json:"requestTimeoutSeconds,omitempty"`
	// maxRetries is how often a failed request is tried again, the first try not counted. Absent: 5. A provider with fallbacks is
	// tried again at least once for each of them, there.
	// +optional
	// +default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxRetries *int32 `json:"maxRetries,omitempty"`
	// fallback lists ModelProviders of the same namespace that are used, in this order, when this one fails or would
	// make a request wait too long.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	Fallback []Name `json:"fallback,omitempty"`
	// models gives context sizes and prices. The entry with the longest name that the model's name begins with holds.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	Models []ModelInfo `json:"models,omitempty"`
	// allowedNamespaces says which other namespaces may use the provider, if it stands in the operator's own namespace.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// ModelInfo is what the operator must know of a model.
// +kubebuilder:validation:XValidation:rule="has(self.inputMicrosPerMillion) == has(self.outputMicrosPerMillion)",message="set both inputMicrosPerMillion and outputMicrosPerMillion, or neither: half a price is no price"
// +kubebuilder:validation:XValidation:rule="!has(self.cachedInputMicrosPerMillion) || has(self.inputMicrosPerMillion)",message="set inputMicrosPerMillion and outputMicrosPerMillion too, or leave out cachedInputMicrosPerMillion"
type ModelInfo struct {
	// name is a model's name, or the beginning of several.
	// +required
	Name ModelName `json:"name"`
	// contextTokens is how many tokens fit into the model's context. Absent: 128000.
	// +optional
	// +default=128000
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=100000000
	ContextTokens int64 `json:"contextTokens,omitempty"`
	// inputMicrosPerMillion is the price of a million prompt tokens, in millionths of the currency. Absent: unknown.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InputMicrosPerMillion *int64 `json:"inputMicrosPerMillion,omitempty"`
	// cachedInputMicrosPerMillion is the price of a million prompt tokens that the provider had cached. Absent: as
	// inputMicrosPerMillion.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CachedInputMicrosPerMillion *int64 `json:"cachedInputMicrosPerMillion,omitempty"`
	// outputMicrosPerMillion is the price of a million completion tokens, in millionths of the currency. Absent: unknown.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OutputMicrosPerMillion *int64 `json:"outputMicrosPerMillion,omitempty"`
	// images says whether the model takes images. If it does not, it reads a text in their place that says what they were.
	// +optional
	// +default=true
	Images *bool `json:"images,omitempty"`
}

// ModelProviderStatus says whether a provider can be used.
type ModelProviderStatus struct {
	// conditions has Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ModelProvider is an OpenAI-compatible endpoint that agents use.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mprov,categories=nestor
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Default model",type=string,JSONPath=`.spec.defaultModel`
// +kubebuilder:printcolumn:name="Concurrency",type=integer,JSONPath=`.spec.maxConcurrentRequests`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.baseURL`
// +kubebuilder:printcolumn:name="Fallback",type=string,JSONPath=`.spec.fallback`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="metadata.name must have at most 63 characters and no dots, so that other objects can refer to it"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.fallback) || !(self.metadata.name in self.spec.fallback)",message="spec.fallback must not name the provider itself"
type ModelProvider struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is the endpoint and how much it may be used.
	// +required
	Spec ModelProviderSpec `json:"spec,omitzero"`
	// status says whether the provider can be used.
	// +optional
	Status ModelProviderStatus `json:"status,omitzero"`
}

// ModelProviderList is a list of providers.
//
// +kubebuilder:object:root=true
type ModelProviderList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ModelProvider `json:"items"`
}
