// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The rules for baseURL are on the struct: an error contains the value of the field that the rule is on, and the URL
// may contain a password.

// ModelAPI is the API of a model provider.
// +kubebuilder:validation:Enum=OpenAI;OpenAIResponses;Anthropic;Gemini;Bedrock;Vertex
type ModelAPI string

// The APIs of model providers.
const (
	// APIOpenAI is the chat completions API, which most providers and gateways speak.
	APIOpenAI ModelAPI = "OpenAI"
	// APIOpenAIResponses is OpenAI's Responses API.
	APIOpenAIResponses ModelAPI = "OpenAIResponses"
	// APIAnthropic is Anthropic's Messages API.
	APIAnthropic ModelAPI = "Anthropic"
	// APIGemini is Google's Gemini API.
	APIGemini ModelAPI = "Gemini"
	// APIBedrock is the Converse API of Amazon Bedrock.
	APIBedrock ModelAPI = "Bedrock"
	// APIVertex is the Gemini API on Google's Vertex AI.
	APIVertex ModelAPI = "Vertex"
)

// ModelProviderSpec is an endpoint for models and its limits.
// +kubebuilder:validation:XValidation:rule="has(self.baseURL) || self.api in ['Anthropic', 'Gemini', 'Bedrock', 'Vertex']",message="set the base URL of the API, for example https://models.example.com/v1",fieldPath=".baseURL"
// +kubebuilder:validation:XValidation:rule="!has(self.baseURL) || (isURL(self.baseURL) && url(self.baseURL).getScheme() in ['http', 'https'] && size(url(self.baseURL).getHost()) > 0)",message="must be an http or https URL, for example https://models.example.com/v1",fieldPath=".baseURL"
// +kubebuilder:validation:XValidation:rule="!has(self.baseURL) || !self.baseURL.matches('^https?://[^/?#]*@')",message="must not contain a user or password: put the key into a Secret and name it in apiKeyRef",fieldPath=".baseURL"
// +kubebuilder:validation:XValidation:rule="!has(self.apiKeyRef) || !has(self.apiKeyFile)",message="set apiKeyRef or apiKeyFile, not both",fieldPath=".apiKeyFile"
// +kubebuilder:validation:XValidation:rule="has(self.aws) == (self.api == 'Bedrock')",message="set aws if api is Bedrock, and only then",fieldPath=".aws"
// +kubebuilder:validation:XValidation:rule="has(self.googleCloud) == (self.api == 'Vertex')",message="set googleCloud if api is Vertex, and only then",fieldPath=".googleCloud"
// +kubebuilder:validation:XValidation:rule="!has(self.aws) || [has(self.apiKeyRef) || has(self.apiKeyFile), has(self.aws.accessKey), has(self.aws.webIdentity), has(self.aws.useOperatorIdentity) && self.aws.useOperatorIdentity].filter(set, set).size() == 1",message="set exactly one of aws.accessKey, aws.webIdentity, aws.useOperatorIdentity, and apiKeyRef or apiKeyFile",fieldPath=".aws"
// +kubebuilder:validation:XValidation:rule="!has(self.aws) || !has(self.aws.assumeRole) || !(has(self.apiKeyRef) || has(self.apiKeyFile))",message="a role cannot be assumed with an API key: use aws.accessKey, aws.webIdentity or aws.useOperatorIdentity",fieldPath=".aws.assumeRole"
// +kubebuilder:validation:XValidation:rule="!has(self.googleCloud) || [has(self.apiKeyRef) || has(self.apiKeyFile), has(self.googleCloud.serviceAccountKeyRef), has(self.googleCloud.useOperatorIdentity) && self.googleCloud.useOperatorIdentity].filter(set, set).size() == 1",message="set exactly one of googleCloud.serviceAccountKeyRef, googleCloud.useOperatorIdentity, and apiKeyRef or apiKeyFile",fieldPath=".googleCloud"
type ModelProviderSpec struct {
	// api is the API that the provider speaks. Defaults to OpenAI, the chat completions API.
	// +optional
	// +default="OpenAI"
	API ModelAPI `json:"api,omitempty"`
	// baseURL is the base URL of the API, whose query is sent with every request. For OpenAI and OpenAIResponses it
	// is required and usually ends in /v1; for the others it defaults to the vendor's own, and has no version at its
	// end.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	BaseURL string `json:"baseURL,omitempty"`
	// apiKeyRef is the API key, in a Secret in this namespace; for Vertex it is an access token of Google. If neither it
	// nor apiKeyFile is set, requests have no key.
	// +optional
	APIKeyRef *SecretKeyRef `json:"apiKeyRef,omitempty"`
	// apiKeyFile is the name of a file that contains the API key, for example one that a cloud's workload identity renews.
	// It is read for each request from the directory of this namespace below the operator's --api-key-dir.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be the name of a file: letters, digits, '-', '_' and '.'"
	APIKeyFile string `json:"apiKeyFile,omitempty"`
	// aws is where Amazon Bedrock is, and how requests are signed.
	// +optional
	AWS *AWS `json:"aws,omitempty"`
	// googleCloud is where Vertex AI is, and the identity of requests.
	// +optional
	GoogleCloud *GoogleCloud `json:"googleCloud,omitempty"`
	// headersFrom are HTTP headers whose values are in Secrets in this namespace.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	HeadersFrom []HeaderSource `json:"headersFrom,omitempty"`
	// caBundle are certificates of authorities, in PEM form, that are trusted for this provider instead of the system's.
	// +optional
	CABundle *CABundleSource `json:"caBundle,omitempty"`
	// defaultModel is the model of agents whose chat and role set none.
	// +optional
	DefaultModel ModelName `json:"defaultModel,omitempty"`
	// maxConcurrentRequests is the maximum number of requests in flight. Defaults to 64.
	// +optional
	// +default=64
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxConcurrentRequests int32 `json:"maxConcurrentRequests,omitempty"`
	// maxRequestsPerMinute is the maximum number of requests that may start in a minute. If absent, there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxRequestsPerMinute *int32 `json:"maxRequestsPerMinute,omitempty"`
	// maxTokensPerMinute is the maximum number of tokens that may be used in a minute. If absent, there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxTokensPerMinute *int64 `json:"maxTokensPerMinute,omitempty"`
	// requestTimeoutSeconds is the timeout of a request. Defaults to 300.
	// +optional
	// +default=300
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	RequestTimeoutSeconds int32 `json:"requestTimeoutSeconds,omitempty"`
	// maxRetries is the maximum number of retries of a failed request; with fallbacks, at least once at each of them.
	// Defaults to 5.
	// +optional
	// +default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxRetries *int32 `json:"maxRetries,omitempty"`
	// fallbacks lists ModelProviders in the same namespace that are used, in this order, when this one fails or a request
	// would wait too long.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	Fallbacks []Name `json:"fallbacks,omitempty"`
	// currency is the currency of the prices, as an ISO 4217 code. Defaults to USD.
	// +optional
	// +default="USD"
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=3
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z]{3}$')",message="must be a currency code of three capital letters, for example USD or EUR"
	Currency string `json:"currency,omitempty"`
	// models lists context sizes and prices. The entry with the longest matching prefix of the model's name applies.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	Models []ModelInfo `json:"models,omitempty"`
	// allowedNamespaces selects the other namespaces that may use the provider, if the provider is in the operator's own
	// namespace.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// AWS is a place in Amazon Web Services, and the identity of requests there.
// +kubebuilder:validation:XValidation:rule="!has(self.stsURL) || (isURL(self.stsURL) && url(self.stsURL).getScheme() in ['http', 'https'] && !self.stsURL.matches('^https?://[^/?#]*@'))",message="must be an http or https URL without a user, for example https://sts.eu-central-1.amazonaws.com",fieldPath=".stsURL"
type AWS struct {
	// region is the region of Bedrock, for example eu-central-1.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a region, for example eu-central-1"
	Region string `json:"region"`
	// accessKey is an access key of an IAM user.
	// +optional
	AccessKey *AWSAccessKey `json:"accessKey,omitempty"`
	// webIdentity exchanges a token of an identity provider for temporary credentials of a role.
	// +optional
	WebIdentity *AWSWebIdentity `json:"webIdentity,omitempty"`
	// useOperatorIdentity uses the identity of the operator's own pod (IRSA or EKS Pod Identity). It is allowed only for
	// providers in the operator's namespace, which other namespaces use through allowedNamespaces.
	// +optional
	UseOperatorIdentity *bool `json:"useOperatorIdentity,omitempty"`
	// assumeRole is a role to assume with these credentials.
	// +optional
	AssumeRole *AWSRole `json:"assumeRole,omitempty"`
	// stsURL is the URL of the Security Token Service, for example that of a VPC endpoint. Defaults to that of the region.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	STSURL string `json:"stsURL,omitempty"`
}

// AWSAccessKey is an access key, in Secrets in this namespace.
type AWSAccessKey struct {
	// idRef is the access key ID.
	// +required
	IDRef SecretKeyRef `json:"idRef"`
	// secretRef is the secret access key.
	// +required
	SecretRef SecretKeyRef `json:"secretRef"`
	// sessionTokenRef is the session token of temporary credentials.
	// +optional
	SessionTokenRef *SecretKeyRef `json:"sessionTokenRef,omitempty"`
}

// AWSWebIdentity is a token and the role that it stands for.
type AWSWebIdentity struct {
	// roleARN is the role.
	// +required
	RoleARN AWSRoleARN `json:"roleARN"`
	// tokenFile is the name of a file with the token, for example one that a projected service account token renews. It is
	// read from the directory of this namespace below the operator's --api-key-dir.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be the name of a file: letters, digits, '-', '_' and '.'"
	TokenFile string `json:"tokenFile"`
}

// AWSRole is a role to assume.
type AWSRole struct {
	// roleARN is the role.
	// +required
	RoleARN AWSRoleARN `json:"roleARN"`
	// externalID is the external ID that the role's trust policy requires.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=1224
	ExternalID string `json:"externalID,omitempty"`
}

// AWSRoleARN is the ARN of a role.
// +kubebuilder:validation:MinLength=20
// +kubebuilder:validation:MaxLength=2048
// +kubebuilder:validation:XValidation:rule="self.matches('^arn:[-a-z]+:iam::[0-9]{12}:role/.+$')",message="must be the ARN of a role, for example arn:aws:iam::123456789012:role/bedrock"
type AWSRoleARN string

// GoogleCloud is a place in Google Cloud, and the identity of requests there.
type GoogleCloud struct {
	// project is the ID of the project that is charged.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9][-a-z0-9]*$')",message="must be the ID of a project: lowercase letters, digits and '-'"
	Project string `json:"project"`
	// location is the location of the models, for example europe-west4. Defaults to global.
	// +optional
	// +default="global"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a location, for example europe-west4"
	Location string `json:"location,omitempty"`
	// serviceAccountKeyRef is the key of a service account, as a JSON file in a Secret in this namespace.
	// +optional
	ServiceAccountKeyRef *SecretKeyRef `json:"serviceAccountKeyRef,omitempty"`
	// useOperatorIdentity uses the identity of the operator's own pod (Workload Identity Federation). It is allowed only
	// for providers in the operator's namespace, which other namespaces use through allowedNamespaces.
	// +optional
	UseOperatorIdentity *bool `json:"useOperatorIdentity,omitempty"`
}

// CABundleSource is where certificates are, in this namespace.
// +kubebuilder:validation:XValidation:rule="has(self.configMapKeyRef) != has(self.secretKeyRef)",message="set exactly one of configMapKeyRef and secretKeyRef"
type CABundleSource struct {
	// configMapKeyRef is the key of a ConfigMap that contains them.
	// +optional
	ConfigMapKeyRef *ConfigMapKeyRef `json:"configMapKeyRef,omitempty"`
	// secretKeyRef is the key of a Secret that contains them.
	// +optional
	SecretKeyRef *SecretKeyRef `json:"secretKeyRef,omitempty"`
}

// ModelInfo describes a model.
// +kubebuilder:validation:XValidation:rule="has(self.inputMicrosPerMillion) == has(self.outputMicrosPerMillion)",message="set both inputMicrosPerMillion and outputMicrosPerMillion, or neither: a price needs both"
// +kubebuilder:validation:XValidation:rule="!has(self.cachedInputMicrosPerMillion) || has(self.inputMicrosPerMillion)",message="set inputMicrosPerMillion and outputMicrosPerMillion too, or leave out cachedInputMicrosPerMillion"
// +kubebuilder:validation:XValidation:rule="!has(self.cacheWriteMicrosPerMillion) || has(self.inputMicrosPerMillion)",message="set inputMicrosPerMillion and outputMicrosPerMillion too, or leave out cacheWriteMicrosPerMillion"
type ModelInfo struct {
	// name is the name of a model, or a prefix of several names.
	// +required
	Name ModelName `json:"name"`
	// contextTokens is the size of the model's context in tokens. Defaults to 128000.
	// +optional
	// +default=128000
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=100000000
	ContextTokens int64 `json:"contextTokens,omitempty"`
	// inputMicrosPerMillion is the price of a million prompt tokens, in millionths of the currency. If absent, the price
	// is unknown.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InputMicrosPerMillion *int64 `json:"inputMicrosPerMillion,omitempty"`
	// cachedInputMicrosPerMillion is the price of a million prompt tokens that the provider had cached. Defaults to
	// inputMicrosPerMillion.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CachedInputMicrosPerMillion *int64 `json:"cachedInputMicrosPerMillion,omitempty"`
	// cacheWriteMicrosPerMillion is the price of a million prompt tokens that the provider writes to its cache, if it
	// charges for that. Defaults to inputMicrosPerMillion.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CacheWriteMicrosPerMillion *int64 `json:"cacheWriteMicrosPerMillion,omitempty"`
	// outputMicrosPerMillion is the price of a million completion tokens, in millionths of the currency. If absent, the
	// price is unknown.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OutputMicrosPerMillion *int64 `json:"outputMicrosPerMillion,omitempty"`
	// supportsImages is false if the model does not accept images. It then gets a text that describes each image.
	// +optional
	// +default=true
	SupportsImages *bool `json:"supportsImages,omitempty"`
	// supportsReasoning is false if the model accepts no reasoning effort. The reasoningEffort of roles is then not sent.
	// +optional
	// +default=true
	SupportsReasoning *bool `json:"supportsReasoning,omitempty"`
}

// ModelProviderStatus is the observed state of a provider.
type ModelProviderStatus struct {
	// observedGeneration is the generation of the spec that is in effect; -1 until the operator has checked the object.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions contains Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ModelProvider is an endpoint for models that agents use.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mprov,categories=nestor
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="API",type=string,JSONPath=`.spec.api`
// +kubebuilder:printcolumn:name="Default model",type=string,JSONPath=`.spec.defaultModel`
// +kubebuilder:printcolumn:name="Concurrency",type=integer,JSONPath=`.spec.maxConcurrentRequests`,priority=1
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.baseURL`
// +kubebuilder:printcolumn:name="Fallbacks",type=string,JSONPath=`.spec.fallbacks`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="metadata.name must have at most 63 characters and no dots, so that other objects can refer to it"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.fallbacks) || !(self.metadata.name in self.spec.fallbacks)",message="spec.fallbacks must not name the provider itself"
type ModelProvider struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is the endpoint and its limits.
	// +required
	Spec ModelProviderSpec `json:"spec,omitzero"`
	// status is the observed state of the provider.
	// +optional
	// +default={"observedGeneration": -1}
	// +structType=atomic
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
