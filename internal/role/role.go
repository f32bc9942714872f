// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import "encoding/json"

// Role contains the fields of an AgentRole's spec, with the same meaning, and the name.
type Role struct {
	// Name identifies the role, in delegations and as an AgentRole's name.
	Name string `json:"name"`
	// DisplayName is the name for people.
	DisplayName string `json:"displayName,omitempty"`
	// Description is one sentence for delegators about the purpose of the role.
	Description string `json:"description,omitempty"`
	// Icon is an emoji.
	Icon string `json:"icon,omitempty"`
	// DelegateWhen completes "delegate to this role when:". Only built-in roles have it; others use Description.
	DelegateWhen []string `json:"delegateWhen,omitempty"`

	// Namespace is the namespace of the AgentRole; empty for a built-in role.
	Namespace string `json:"-"`

	// ModelProvider and Model are empty in built-in roles: the provider's default applies.
	ModelProvider   string `json:"modelProvider,omitempty"`
	Model           string `json:"model,omitempty"`
	Temperature     string `json:"temperature,omitempty"`
	MaxOutputTokens int64  `json:"maxOutputTokens,omitempty"`
	// SystemPrompt is the text itself, even if it was read from a ConfigMap.
	SystemPrompt string `json:"systemPrompt,omitempty"`

	// Tools are the tools of the role; nil means the built-in tools.
	Tools      *Tools      `json:"tools,omitempty"`
	Approval   *Approval   `json:"approval,omitempty"`
	Delegation *Delegation `json:"delegation,omitempty"`
	// AsTool offers the role to its delegators as a separate tool.
	AsTool *AsTool `json:"asTool,omitempty"`
	Limits Limits  `json:"limits,omitempty"`
}

// Tools contains globs on tool names. Deny takes precedence.
type Tools struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny,omitempty"`
}

// ApprovalMode selects the calls that need an approval.
type ApprovalMode string

// The approval modes.
const (
	ApproveWriteTools ApprovalMode = "WriteTools"
	ApproveAlways     ApprovalMode = "Always"
	ApproveNever      ApprovalMode = "Never"
)

// Approval selects the calls that need an approval. Tools are globs for tools that need one in every mode. With Separation, the
// decision must be made by a person who is not a requester of the work.
type Approval struct {
	Mode       ApprovalMode `json:"mode,omitempty"`
	Tools      []string     `json:"tools,omitempty"`
	Separation bool         `json:"separation,omitempty"`
}

// Delegation lists the roles that an agent may delegate to.
type Delegation struct {
	Roles []string `json:"roles"`
}

// AsTool is the tool interface of a role.
type AsTool struct {
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// Limits bound one run. Zero means no limit, or the default of the caller.
type Limits struct {
	MaxIterations      int   `json:"maxIterations,omitempty"`
	MaxDurationSeconds int64 `json:"maxDurationSeconds,omitempty"`
	MaxTotalTokens     int64 `json:"maxTotalTokens,omitempty"`
	MaxCostMicros      int64 `json:"maxCostMicros,omitempty"`
}

// Delegates returns the roles that r may delegate to.
func (r Role) Delegates() []string {
	if r.Delegation == nil {
		return nil
	}
	return r.Delegation.Roles
}
