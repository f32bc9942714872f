// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import "encoding/json"

// Role is who an agent is. Its fields are those of an AgentRole's spec, with the
// same meaning, and the name.
type Role struct {
	// Name identifies the role, in delegations and as an AgentRole's name.
	Name string `json:"name"`
	// DisplayName is what people read.
	DisplayName string `json:"displayName,omitempty"`
	// Description tells delegators in a sentence what the role is for.
	Description string `json:"description,omitempty"`
	// Icon is an emoji.
	Icon string `json:"icon,omitempty"`
	// DelegateWhen completes "delegate to this role when:". Only built-in roles
	// have it; for others Description has to do.
	DelegateWhen []string `json:"delegateWhen,omitempty"`

	// Namespace is that of the AgentRole; empty for a built-in one.
	Namespace string `json:"-"`

	// ModelProvider and Model are empty in built-in roles: the provider decides.
	ModelProvider   string `json:"modelProvider,omitempty"`
	Model           string `json:"model,omitempty"`
	Temperature     string `json:"temperature,omitempty"`
	MaxOutputTokens int64  `json:"maxOutputTokens,omitempty"`
	// SystemPrompt is the text itself, wherever it was read from.
	SystemPrompt string `json:"systemPrompt,omitempty"`

	// Tools says which tools the role has; nil means the built-in tools.
	Tools      *Tools      `json:"tools,omitempty"`
	Approval   *Approval   `json:"approval,omitempty"`
	Delegation *Delegation `json:"delegation,omitempty"`
	// AsTool offers the role to its delegators as a tool of its own.
	AsTool *AsTool `json:"asTool,omitempty"`
	Limits Limits  `json:"limits,omitempty"`
}

// Tools lists globs on the names of tools, as models see them. Deny wins.
type Tools struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny,omitempty"`
}

// ApprovalMode says which calls wait for a person.
type ApprovalMode string

// The modes of approval.
const (
	ApproveWriteTools ApprovalMode = "WriteTools"
	ApproveAlways     ApprovalMode = "Always"
	ApproveNever      ApprovalMode = "Never"
)

// Approval says which calls wait for a person. Tools are globs that do in every
// mode. With Separation nobody decides who asked for the work.
type Approval struct {
	Mode       ApprovalMode `json:"mode,omitempty"`
	Tools      []string     `json:"tools,omitempty"`
	Separation bool         `json:"separation,omitempty"`
}

// Delegation lists the roles that an agent may delegate to.
type Delegation struct {
	Roles []string `json:"roles"`
}

// AsTool is how a role looks as a tool.
type AsTool struct {
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// Limits bound one run. Zero is no limit, or the default of what builds on it.
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
