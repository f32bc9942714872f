// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"fmt"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
)

// skillTool returns the set with read_skill for agents that began with a revision of a role. If the role is gated, a
// call reads the skills of that revision, and otherwise those that the role has at that time: a ConfigMap of kustomize
// gets another name with every change, and the earlier one may be gone.
func (t *Tools) skillTool(namespace, roleName, revision string) (tool.Set, error) {
	made, err := builtin.NewReadSkill(func(ctx context.Context) (map[string]builtin.Skill, []string, error) {
		definition, err := t.Finder.RoleAt(ctx, namespace, roleName, revision)
		if err != nil {
			return nil, nil, err
		}
		skills := map[string]builtin.Skill{}
		var names []string
		for _, s := range definition.SkillTexts {
			skills[s.Name] = s
			names = append(names, s.Name)
		}
		return skills, names, nil
	})
	if err != nil {
		return tool.Set{}, fmt.Errorf("create read_skill: %w", err)
	}
	return tool.NewSet(made)
}
