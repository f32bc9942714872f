// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"cmp"

	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Overlay returns r with the fields that are set in over. A part such as Tools or Delegation is replaced as a whole,
// while limits are replaced one by one. A remote role keeps no prompt, model or tools, and an isolated one nothing that
// its agents could act with. SystemPromptFrom, Promotion and AllowedNamespaces are left out: they are for finding and
// reading a role.
func (r Role) Overlay(over Role) Role {
	if over.Remote != nil { // the remote agent has its own
		r.ModelProvider, r.Model, r.Temperature, r.MaxOutputTokens, r.ReasoningEffort, r.SystemPrompt = "", "", "", 0, "", ""
		r.Tools, r.Approval, r.Delegation = nil, nil, nil
	}
	if over.Isolated { // nothing but data leaves its agents
		r.Tools, r.Approval, r.Delegation, r.Skills, r.Review = nil, nil, nil, nil, nil
	}
	skills := over.Skills
	if len(skills) == 0 {
		skills = r.Skills
	}
	return Role{
		Name:         cmp.Or(over.Name, r.Name),
		DelegateWhen: delegateWhen(r, over),
		AgentRoleSpec: v1beta1.AgentRoleSpec{
			DisplayName:     cmp.Or(over.DisplayName, r.DisplayName),
			Description:     cmp.Or(over.Description, r.Description),
			Icon:            cmp.Or(over.Icon, r.Icon),
			ModelProvider:   cmp.Or(over.ModelProvider, r.ModelProvider),
			Model:           cmp.Or(over.Model, r.Model),
			Temperature:     cmp.Or(over.Temperature, r.Temperature),
			MaxOutputTokens: cmp.Or(over.MaxOutputTokens, r.MaxOutputTokens),
			ReasoningEffort: cmp.Or(over.ReasoningEffort, r.ReasoningEffort),
			SystemPrompt:    cmp.Or(over.SystemPrompt, r.SystemPrompt),
			Skills:          skills,
			Tools:           cmp.Or(over.Tools, r.Tools),
			Approval:        cmp.Or(over.Approval, r.Approval),
			Delegation:      cmp.Or(over.Delegation, r.Delegation),
			AsTool:          cmp.Or(over.AsTool, r.AsTool),
			Remote:          cmp.Or(over.Remote, r.Remote),
			Review:          cmp.Or(over.Review, r.Review),
			OutputSchema:    cmp.Or(over.OutputSchema, r.OutputSchema),
			Isolated:        over.Isolated,
			Limits:          overlayLimits(r.Limits, over.Limits),
		},
	}
}

// overlayLimits returns new limits: those of base with the ones that are set in over.
func overlayLimits(base, over *v1beta1.RoleLimits) *v1beta1.RoleLimits {
	b, o := ptr.Deref(base, v1beta1.RoleLimits{}), ptr.Deref(over, v1beta1.RoleLimits{})
	return &v1beta1.RoleLimits{
		MaxIterations:      cmp.Or(o.MaxIterations, b.MaxIterations),
		MaxDurationSeconds: cmp.Or(o.MaxDurationSeconds, b.MaxDurationSeconds),
		MaxTotalTokens:     cmp.Or(o.MaxTotalTokens, b.MaxTotalTokens),
		MaxCostMicros:      cmp.Or(o.MaxCostMicros, b.MaxCostMicros),
	}
}

// delegateWhen drops the built-in DelegateWhen if the role gets a new description.
func delegateWhen(r, over Role) []string {
	if len(over.DelegateWhen) > 0 || over.Description != "" && over.Description != r.Description {
		return over.DelegateWhen
	}
	return r.DelegateWhen
}
