// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import "cmp"

// Overlay returns r with the fields that are set in over. A part such as Tools or Delegation is replaced as a whole, while limits
// are replaced one by one.
func (r Role) Overlay(over Role) Role {
	return Role{
		Name:            cmp.Or(over.Name, r.Name),
		DisplayName:     cmp.Or(over.DisplayName, r.DisplayName),
		Description:     cmp.Or(over.Description, r.Description),
		Icon:            cmp.Or(over.Icon, r.Icon),
		DelegateWhen:    delegateWhen(r, over),
		ModelProvider:   cmp.Or(over.ModelProvider, r.ModelProvider),
		Model:           cmp.Or(over.Model, r.Model),
		Temperature:     cmp.Or(over.Temperature, r.Temperature),
		MaxOutputTokens: cmp.Or(over.MaxOutputTokens, r.MaxOutputTokens),
		SystemPrompt:    cmp.Or(over.SystemPrompt, r.SystemPrompt),
		Tools:           cmp.Or(over.Tools, r.Tools),
		Approval:        cmp.Or(over.Approval, r.Approval),
		Delegation:      cmp.Or(over.Delegation, r.Delegation),
		AsTool:          cmp.Or(over.AsTool, r.AsTool),
		Limits: Limits{
			MaxIterations:      cmp.Or(over.Limits.MaxIterations, r.Limits.MaxIterations),
			MaxDurationSeconds: cmp.Or(over.Limits.MaxDurationSeconds, r.Limits.MaxDurationSeconds),
			MaxTotalTokens:     cmp.Or(over.Limits.MaxTotalTokens, r.Limits.MaxTotalTokens),
			MaxCostMicros:      cmp.Or(over.Limits.MaxCostMicros, r.Limits.MaxCostMicros),
		},
	}
}

// delegateWhen drops the built-in DelegateWhen if the role gets a new description.
func delegateWhen(r, over Role) []string {
	if len(over.DelegateWhen) > 0 || over.Description != "" && over.Description != r.Description {
		return over.DelegateWhen
	}
	return r.DelegateWhen
}
