// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Revision is the digest of a role with everything that its agents are made from: prompt, includes, skills, tools and
// model.
// +kubebuilder:validation:MaxLength=32
type Revision = string

// PromotionMode determines when a changed role is used.
// +kubebuilder:validation:Enum=Immediate;Gated
type PromotionMode string

// The promotion modes.
const (
	// PromotionImmediate: by the agents that start after the change.
	PromotionImmediate PromotionMode = "Immediate"
	// PromotionGated: by the runs that begin after its revision was promoted.
	PromotionGated PromotionMode = "Gated"
)

// RolePromotion configures the promotion of the revisions of a role.
// +kubebuilder:validation:XValidation:rule="!has(self.evaluation) || self.?mode.orValue('Immediate') == 'Gated'",message="evaluation is for the mode Gated: with Immediate, every change is used at once"
type RolePromotion struct {
	// mode is Immediate, or Gated: then runs begin with the promoted revision until a user with the verb promote on this
	// AgentRole promotes another one. To change it from Gated to Immediate, a user needs the same verb.
	// +optional
	// +default="Immediate"
	Mode PromotionMode `json:"mode,omitempty"`
	// evaluation is the AgentEvaluation of this namespace that promotes a revision of a gated role if the revision passes. To
	// set or change it, a user needs the verb promote on this AgentRole.
	// +optional
	Evaluation Name `json:"evaluation,omitempty"`
}

// RoleRevision is a revision of a role.
type RoleRevision struct {
	// role is the name of the AgentRole.
	// +required
	Role Name `json:"role"`
	// revision is the digest of the role.
	// +required
	// +kubebuilder:validation:MinLength=1
	Revision Revision `json:"revision"`
}
