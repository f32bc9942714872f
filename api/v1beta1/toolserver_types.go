// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The rules for url are on the struct: an error contains the value of the field that the rule is on, and the URL may
// contain a password.

// ToolServerSpec is an MCP server. Agents receive its tools as <server>__<tool>.
// +kubebuilder:validation:XValidation:rule="isURL(self.url) && url(self.url).getScheme() in ['http', 'https'] && size(url(self.url).getHost()) > 0",message="must be an http or https URL, for example https://tools.example.com/mcp",fieldPath=".url"
// +kubebuilder:validation:XValidation:rule="!self.url.matches('^https?://[^/?#]*@')",message="must not contain a user or password: put them into a Secret and name it in headersFrom",fieldPath=".url"
// +kubebuilder:validation:XValidation:rule="!has(self.auth) || !has(self.headersFrom) || self.headersFrom.all(h, h.name.lowerAscii() != 'authorization')",message="must not contain Authorization together with auth: the access token is sent in this header",fieldPath=".headersFrom"
type ToolServerSpec struct {
	// transport is the MCP transport of the server.
	// +optional
	// +default="StreamableHTTP"
	Transport ToolTransport `json:"transport,omitempty"`
	// url is the server's MCP endpoint.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url"`
	// headersFrom are HTTP headers whose values are in Secrets in this namespace.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	HeadersFrom []HeaderSource `json:"headersFrom,omitempty"`
	// auth makes the operator obtain access tokens for the server, instead of a header Authorization in headersFrom.
	// +optional
	Auth *ToolServerAuth `json:"auth,omitempty"`
	// readOnlyTools are further tools that change nothing, although the server does not mark them as read-only; they need
	// no approval. The names are the server's own, without prefix.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	ReadOnlyTools []ServerToolName `json:"readOnlyTools,omitempty"`
	// timeoutSeconds is the timeout of a call. Defaults to 60.
	// +optional
	// +default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// acceptedToolsDigest is the digest of a list of tools (status.toolsDigest) that is accepted although tools in it
	// differ from the pinned ones. If absent, changed tools are withheld.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:XValidation:rule="self.matches('^sha256:[0-9a-f]{64}$')",message="must be a digest as in status.toolsDigest: sha256: and 64 hexadecimal digits"
	AcceptedToolsDigest string `json:"acceptedToolsDigest,omitempty"`
	// allowedNamespaces selects the other namespaces that may use the server, if the server is in the operator's own
	// namespace.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
	// trusted exempts the results of its tools from the content label untrusted. To set it, or to change the spec while it
	// is set, a user needs the verb trust on this ToolServer.
	// +optional
	Trusted bool `json:"trusted,omitempty"`
	// contentLabels are further content labels of the results of its tools.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	ContentLabels []ContentLabel `json:"contentLabels,omitempty"`
}

// ToolServerAuth configures how the operator obtains access tokens.
// +kubebuilder:validation:XValidation:rule="has(self.oauth) != has(self.userOAuth)",message="must have either oauth, for one client that all agents share, or userOAuth, for the credentials of each person"
type ToolServerAuth struct {
	// oauth is a client of an OAuth 2.0 authorization server that may use the client credentials grant.
	// +optional
	OAuth *OAuthClient `json:"oauth,omitempty"`
	// userOAuth makes people log in to the server: calls have the credentials of the person who requested the work. Runs of
	// triggers cannot call the server.
	// +optional
	UserOAuth *UserOAuthClient `json:"userOAuth,omitempty"`
}

// UserOAuthClient is the operator's client at the server's authorization server, which the operator discovers. It uses
// the authorization code grant with PKCE, and its redirect URL is the address of the web page with /tool-login/callback.
// +kubebuilder:validation:XValidation:rule="!has(self.clientSecretKeyRef) || has(self.clientID)",message="must have clientID together with clientSecretKeyRef"
type UserOAuthClient struct {
	// clientID identifies the client. If absent, the operator registers a client (RFC 7591).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ClientID string `json:"clientID,omitempty"`
	// clientSecretKeyRef is the key of a Secret in this namespace that contains the client secret. If absent, the client is
	// public.
	// +optional
	ClientSecretKeyRef *SecretKeyRef `json:"clientSecretKeyRef,omitempty"`
	// scopes are the requested scopes. Defaults to those that the server names.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Scopes []OAuthScope `json:"scopes,omitempty"`
}

// OAuthClient is a client of an OAuth 2.0 authorization server. Its secret is sent with HTTP Basic authentication
// (client_secret_basic).
// +kubebuilder:validation:XValidation:rule="isURL(self.tokenURL) && url(self.tokenURL).getScheme() in ['http', 'https'] && size(url(self.tokenURL).getHost()) > 0",message="must be an https URL, for example https://login.example.com/oauth/token",fieldPath=".tokenURL"
// +kubebuilder:validation:XValidation:rule="!self.tokenURL.matches('^https?://[^/?#]*@') && !self.tokenURL.contains('#')",message="must not contain a user, a password or a fragment: the client is in clientID and clientSecretKeyRef",fieldPath=".tokenURL"
// +kubebuilder:validation:XValidation:rule="!isURL(self.tokenURL) || url(self.tokenURL).getScheme() != 'http' || self.tokenURL.matches('^http://(localhost|127[.][0-9.]+|[[]::1[]]|[a-z0-9-]+[.][a-z0-9-]+[.]svc|[a-z0-9-]+[.][a-z0-9-]+[.]svc[.]cluster[.]local)(:[0-9]+)?([/?]|$)')",message="must be https: the client secret is sent there. http is only for a Service of the cluster (NAME.NAMESPACE.svc) and for loopback addresses",fieldPath=".tokenURL"
type OAuthClient struct {
	// tokenURL is the token endpoint of the authorization server.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	TokenURL string `json:"tokenURL"`
	// clientID identifies the client.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ClientID string `json:"clientID"`
	// clientSecretKeyRef is the key of a Secret in this namespace that contains the client secret.
	// +required
	ClientSecretKeyRef SecretKeyRef `json:"clientSecretKeyRef,omitzero"`
	// scopes are the requested scopes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Scopes []OAuthScope `json:"scopes,omitempty"`
	// audience is sent as the parameter audience, which some authorization servers require.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Audience string `json:"audience,omitempty"`
	// resource is the server that the tokens are for (RFC 8707), or empty for authorization servers that do not
	// accept it. Defaults to url without its query.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Resource *string `json:"resource,omitempty"`
}

// OAuthScope is a scope of OAuth 2.0.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule="self.matches('^[]!#-[^-~]+$')",message="must be one scope: no spaces, quotes and backslashes. Write several scopes as several entries"
type OAuthScope = string

// ServerToolName is the server's own name of a tool.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
type ServerToolName = string

// ToolTransport is the MCP transport of a tool server.
// +kubebuilder:validation:Enum=StreamableHTTP;SSE
type ToolTransport string

// The MCP transports.
const (
	// TransportStreamableHTTP is MCP's current HTTP transport.
	TransportStreamableHTTP ToolTransport = "StreamableHTTP"
	// TransportSSE is the older one with server-sent events.
	TransportSSE ToolTransport = "SSE"
)

// HeaderSource is an HTTP header whose value is in a Secret.
type HeaderSource struct {
	// name is the header's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9-]+$')",message="must be the name of an HTTP header: letters, digits and '-', for example Authorization"
	Name string `json:"name"`
	// secretKeyRef is the key of a Secret that contains its value.
	// +required
	SecretKeyRef SecretKeyRef `json:"secretKeyRef"`
}

// ToolInfo is one tool that a server offers.
type ToolInfo struct {
	// name is the server's own name of the tool.
	// +required
	Name ServerToolName `json:"name"`
	// description is the server's description of the tool, shortened.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Description string `json:"description,omitempty"`
	// readOnly is true if the tool changes nothing.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
	// inputSchema is the JSON schema of the tool's arguments, for people who call it by hand. All schemas of a server
	// together have at most 24576 bytes.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=8192
	InputSchema *runtime.RawExtension `json:"inputSchema,omitempty"`
	// schemaOmitted is true if the schema does not fit, or contains characters that are not visible.
	// +optional
	SchemaOmitted bool `json:"schemaOmitted,omitempty"`
	// withheld is true if the tool differs from the pinned one, and is not offered to agents.
	// +optional
	Withheld bool `json:"withheld,omitempty"`
}

// ToolPin is a tool as it was when it was first listed, or when its change was accepted.
type ToolPin struct {
	// name is the tool's name without the prefix of the server, as models see it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern="^[a-zA-Z0-9_-]+$"
	Name string `json:"name"`
	// digest is a prefix of the SHA-256, in base64, of its name, title, description, schemas and hints.
	// +required
	// +kubebuilder:validation:MinLength=32
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern="^[a-zA-Z0-9_-]+$"
	Digest string `json:"digest"`
	// added is true if the tool was added after the others were pinned: the server's hints about it are ignored.
	// +optional
	Added bool `json:"added,omitempty"`
}

// ToolServerStatus is the observed state of a tool server.
type ToolServerStatus struct {
	// observedGeneration is the generation of the spec that is in effect; -1 until the operator has checked the object.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// tools are the server's tools, by name; at most 128 are listed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Tools []ToolInfo `json:"tools,omitempty"`
	// toolCount is the total number of tools.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ToolCount int32 `json:"toolCount,omitempty"`
	// toolsDigest is the digest of all tools in the server's current list. Set spec.acceptedToolsDigest to it to accept
	// them.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern="^[a-z0-9:]+$"
	ToolsDigest string `json:"toolsDigest,omitempty"`
	// pins are the pinned tools. Tools that the server no longer lists stay pinned.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=200
	Pins []ToolPin `json:"pins,omitempty"`
	// pinnedEndpoint is a digest of the transport and the URL that the pins belong to. The tools of another endpoint are
	// pinned again.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern="^[0-9a-f]+$"
	PinnedEndpoint string `json:"pinnedEndpoint,omitempty"`
	// loginURL is the page where people log in to the server and out, if they do.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LoginURL string `json:"loginURL,omitempty"`
	// conditions contains Ready and ToolsChanged.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(c, size(c.message) <= 1024)",message="a condition's message has at most 1024 characters"
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ToolServer is an MCP server whose tools agents may use.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tsrv,categories=nestor
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Tools",type=integer,JSONPath=`.status.toolCount`
// +kubebuilder:printcolumn:name="Changed",type=string,JSONPath=`.status.conditions[?(@.type=="ToolsChanged")].status`,priority=1
// +kubebuilder:printcolumn:name="Transport",type=string,JSONPath=`.spec.transport`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 32 && !self.metadata.name.contains('.')",message="metadata.name must have at most 32 characters and no dots: it begins the name of every tool, which may have 64"
type ToolServer struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// spec is the address of the server and how to use it.
	// +required
	Spec ToolServerSpec `json:"spec,omitzero"`
	// status is the observed state of the server.
	// +optional
	// +default={"observedGeneration": -1}
	// +structType=atomic
	Status ToolServerStatus `json:"status,omitzero"`
}

// ToolServerList is a list of tool servers.
//
// +kubebuilder:object:root=true
type ToolServerList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ToolServer `json:"items"`
}
