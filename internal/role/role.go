// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Role is the spec of an AgentRole with its name. The model and its provider are empty in built-in roles: the
// provider's default applies.
type Role struct {
	// Name identifies the role, in delegations and as an AgentRole's name.
	Name string `json:"name"`
	// Namespace is the namespace of the AgentRole; empty for a built-in role.
	Namespace  string   `json:"-"`
	ConfigMaps []string `json:"-"`
	// Revision is the digest of the role, if it was computed; see Snapshot.
	Revision string `json:"-"`
	// Gated reports that the role was read from a promoted revision.
	Gated bool `json:"-"`
	// SkillTexts are the contents of the skills of the AgentRole.
	SkillTexts []Skill `json:"skillTexts,omitempty"`
	// DelegateWhen completes "delegate to this role when:". Only built-in roles have it; others use Description.
	DelegateWhen []string `json:"delegateWhen,omitempty"`

	// AgentRoleSpec contains the fields that an AgentRole can set. SystemPrompt is the text itself, even if it was read
	// from a ConfigMap.
	v1beta1.AgentRoleSpec `json:",inline"`
}

func (r Role) Delegates() []string {
	if r.Delegation == nil {
		return nil
	}
	return r.Delegation.Roles
}

// Uses returns the roles of the agents that one with r may start.
func (r Role) Uses() []string {
	if r.Review == nil {
		return r.Delegates()
	}
	return append(slices.Clone(r.Delegates()), r.Review.Role)
}

// InputSchema returns the schema of the input of r as a tool, or nil if it has none.
func (r Role) InputSchema() json.RawMessage {
	if r.AsTool == nil || r.AsTool.InputSchema == nil {
		return nil
	}
	return r.AsTool.InputSchema.Raw
}

// OutputFields returns the sorted names of the fields in the output schema of r.
func (r Role) OutputFields() []string {
	if r.OutputSchema == nil {
		return nil
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(r.OutputSchema.Raw, &schema) != nil {
		return nil // the role's status reports the error
	}
	return slices.Sorted(maps.Keys(schema.Properties))
}

// CannotReview returns why agents with a role cannot review results, or "".
func CannotReview(reviewer Role) string {
	if reviewer.Isolated {
		return fmt.Sprintf("The role %s is isolated, and a verdict has text: name another role in spec.review.role.", reviewer.Name)
	}
	if reviewer.Remote == nil {
		return ""
	}
	return fmt.Sprintf("The role %s is that of a remote agent, which submits no verdict: name another role in spec.review.role.", reviewer.Name)
}
