// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The rules on url stand on its struct: a refusal repeats the value of the field that its rule stands on, and this one may
// hold a password.

// ToolServerSpec is an MCP server. Agents see its tools as <server>__<tool>.
// +kubebuilder:validation:XValidation:rule="isURL(self.url) && url(self.url).getScheme() in ['http', 'https'] && size(url(self.url).getHost()) > 0",message="must be an http or https URL, for example https://tools.example.com/mcp",fieldPath=".url"
// +kubebuilder:validation:XValidation:rule="!self.url.matches('^https?://[^/?#]*@')",message="must not contain a user or password: put them into a Secret and name it in headersFrom",fieldPath=".url"
type ToolServerSpec struct {
	// transport is how the server speaks MCP.
	// +optional
	// +default="StreamableHTTP"
	Transport ToolTransport `json:"transport,omitempty"`
	// url is the server's MCP endpoint.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url"`
	// headersFrom are HTTP headers whose values stand in Secrets of this namespace.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	HeadersFrom []HeaderSource `json:"headersFrom,omitempty"`
	// readOnlyTools are tools that change nothing although the server does not say so; they need no approval. The names
	// are the server's own, without prefix.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	ReadOnlyTools []ServerToolName `json:"readOnlyTools,omitempty"`
	// timeoutSeconds is how long one call may take. Absent: 60.
	// +optional
	// +default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// acceptChanges is the digest of a list of tools (status.toolsDigest) that is accepted although tools in it differ from those that were
	// pinned. Absent: tools that change are withheld.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:XValidation:rule="self.matches('^sha256:[0-9a-f]{64}$')",message="must be a digest as in status.toolsDigest: sha256: and 64 hexadecimal digits"
	AcceptChanges string `json:"acceptChanges,omitempty"`
	// allowedNamespaces says which other namespaces may use the server, if it stands in the operator's own namespace.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// ServerToolName is a tool's name as its server knows it.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
type ServerToolName = string

// ToolTransport is how a tool server speaks MCP.
// +kubebuilder:validation:Enum=StreamableHTTP;SSE
type ToolTransport string

// How a tool server speaks MCP.
const (
	// TransportStreamableHTTP is MCP's current HTTP transport.
	TransportStreamableHTTP ToolTransport = "StreamableHTTP"
	// TransportSSE is the older one with server-sent events.
	TransportSSE ToolTransport = "SSE"
)

// HeaderSource is an HTTP header whose value stands in a Secret.
type HeaderSource struct {
	// name is the header's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9-]+$')",message="must be the name of an HTTP header: letters, digits and '-', for example Authorization"
	Name string `json:"name"`
	// secretKeyRef is where its value stands.
	// +required
	SecretKeyRef SecretKeyRef `json:"secretKeyRef"`
}

// ToolInfo is one tool that a server offers.
type ToolInfo struct {
	// name is the tool's name as the server knows it.
	// +required
	Name ServerToolName `json:"name"`
	// description is what the server says of it, shortened.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Description string `json:"description,omitempty"`
	// readOnly says that the tool changes nothing.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
	// withheld says that the tool differs from what was pinned, and is not offered to agents.
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
	// digest is the beginning of the SHA-256, in base64, of its name, title, description, schemas and hints.
	// +required
	// +kubebuilder:validation:MinLength=32
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern="^[a-zA-Z0-9_-]+$"
	Digest string `json:"digest"`
	// added says that the tool was not there when the others were pinned: the server's hints about it do not count.
	// +optional
	Added bool `json:"added,omitempty"`
}

// ToolServerStatus is what a tool server offers.
type ToolServerStatus struct {
	// tools are the server's tools, by name; at most 128 are listed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Tools []ToolInfo `json:"tools,omitempty"`
	// toolCount is the number of all its tools.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ToolCount int32 `json:"toolCount,omitempty"`
	// toolsDigest is the digest of all tools as the server lists them now. spec.acceptChanges names it to accept them.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern="^[a-z0-9:]+$"
	ToolsDigest string `json:"toolsDigest,omitempty"`
	// pins are the tools as they were pinned. Tools that the server does not list any more stay pinned.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=200
	Pins []ToolPin `json:"pins,omitempty"`
	// pinnedEndpoint is a digest of the transport and the URL that the pins belong to. Another endpoint is pinned anew.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern="^[0-9a-f]+$"
	PinnedEndpoint string `json:"pinnedEndpoint,omitempty"`
	// conditions has Ready and ToolsChanged.
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
	// spec is how to reach the server.
	// +required
	Spec ToolServerSpec `json:"spec,omitzero"`
	// status is what it offers.
	// +optional
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
