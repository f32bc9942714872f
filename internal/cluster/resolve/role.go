// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/role"
)

// Defaults of a role.
const (
	defaultIterations   = 20
	defaultSeconds      = 300
	defaultOutputTokens = 4096
)

// Role finds a role that a namespace may use, with its prompt and its defaults, as it is written now. Runs use RoleAt.
func (f Finder) Role(ctx context.Context, namespace, name string) (role.Role, error) {
	object, builtIn, err := f.findRole(ctx, namespace, name)
	if err != nil || object == nil {
		return builtIn, err
	}
	return f.ReadRole(ctx, object)
}

// findRole finds the AgentRole with a name, or the built-in role if there is no object.
func (f Finder) findRole(ctx context.Context, namespace, name string) (*v1beta1.AgentRole, role.Role, error) {
	object, err := find(ctx, f, namespace, name, &v1beta1.AgentRole{}, v1beta1.ReasonRoleNotFound,
		func(r *v1beta1.AgentRole) *v1beta1.AllowedNamespaces { return r.Spec.AllowedNamespaces })
	var missing *Missing
	if errors.As(err, &missing) {
		if builtIn, ok := role.BuiltIn(name); ok {
			return nil, withDefaults(builtIn), nil
		}
	}
	if err != nil {
		return nil, role.Role{}, err
	}
	return object, role.Role{}, nil
}

// WithoutTexts returns a role as Role does, for callers that may not read ConfigMaps: the texts that are in ConfigMaps
// are left out.
func (f Finder) WithoutTexts(ctx context.Context, namespace, name string) (role.Role, error) {
	object, builtIn, err := f.findRole(ctx, namespace, name)
	if err != nil || object == nil {
		return builtIn, err
	}
	return f.overlay(object), nil
}

// ReadRole reads an AgentRole: what it leaves out is taken from the built-in role of the same name, if there is one.
// The ConfigMaps that it was read from are returned with an error, too.
func (f Finder) ReadRole(ctx context.Context, object *v1beta1.AgentRole) (role.Role, error) {
	texts := &configMaps{finder: f, namespace: object.Namespace}
	read := f.overlay(object)
	prompt, err := texts.prompt(ctx, object)
	if prompt != "" {
		read.SystemPrompt = prompt
	}
	if err == nil {
		read.SkillTexts, err = texts.skills(ctx, object)
	}
	read.ConfigMaps = texts.names()
	return read, err
}

func (c *configMaps) skills(ctx context.Context, object *v1beta1.AgentRole) ([]role.Skill, error) {
	var skills []role.Skill
	from := map[string]string{}
	for _, source := range object.Spec.Skills {
		config, err := c.get(ctx, source.ConfigMapName)
		if err != nil {
			return nil, err
		}
		if config == nil {
			return nil, &Missing{Reason: v1beta1.ReasonConfigMapNotFound, Message: fmt.Sprintf("Create the ConfigMap %q in the namespace %s with a skill of the role %s: %s is missing.",
				source.ConfigMapName, c.namespace, object.Name, role.SkillFile)}
		}
		skill, err := role.ReadSkill(source.ConfigMapName, config.Data)
		if err != nil {
			return nil, invalidRole("The skill in the ConfigMap %q of the role %s cannot be used: %s: %s.", source.ConfigMapName, object.Name, role.SkillFile, err)
		}
		if other, ok := from[skill.Name]; ok {
			return nil, invalidRole("The ConfigMaps %q and %q of the role %s both contain the skill %s: remove one of them.", other, source.ConfigMapName, object.Name, skill.Name)
		}
		from[skill.Name] = source.ConfigMapName
		skill.Trusted, skill.Labels = source.Trusted, source.ContentLabels
		skills = append(skills, skill)
	}
	return skills, nil
}

// prompt returns the prompt of an AgentRole with its includes, or "" if the role has none of its own.
func (c *configMaps) prompt(ctx context.Context, object *v1beta1.AgentRole) (string, error) {
	prompt := object.Spec.SystemPrompt
	if from := object.Spec.SystemPromptFrom; from != nil {
		var err error
		if prompt, err = c.text(ctx, from.ConfigMapKeyRef, fmt.Sprintf("it is the prompt of the role %s", object.Name)); err != nil {
			return "", err
		}
	}
	return c.expandIncludes(ctx, object.Name, prompt)
}

// overlay returns an AgentRole over the built-in role of the same name, without the texts that are in ConfigMaps.
func (f Finder) overlay(object *v1beta1.AgentRole) role.Role {
	builtIn, _ := role.BuiltIn(object.Name)
	read := withDefaults(builtIn.Overlay(role.Role{Name: object.Name, AgentRoleSpec: *object.Spec.DeepCopy()})) // the object may be in the cache
	if !f.BuiltIn(object) {
		read.Namespace = object.Namespace
	}
	return read
}

// BuiltIn reports whether an AgentRole is a built-in role that was installed with the operator. It is not shared by its
// namespace: without it, agents use the role in the program.
func (f Finder) BuiltIn(object *v1beta1.AgentRole) bool {
	return object.Namespace == f.OperatorNamespace && object.Labels[v1beta1.LabelBuiltIn] != ""
}

// MayUseRole returns an error with the reason if a namespace may no longer use a shared AgentRole.
func (f Finder) MayUseRole(ctx context.Context, namespace, roleNamespace, name string) error {
	var object v1beta1.AgentRole
	err := f.Find(ctx, types.NamespacedName{Namespace: roleNamespace, Name: name}, &object)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("the AgentRole %s/%s was deleted: it can no longer be used in the namespace %s", roleNamespace, name, namespace)
	}
	if err != nil {
		return fmt.Errorf("get AgentRole %s/%s: %w", roleNamespace, name, err)
	}
	ok, err := f.Allows(ctx, object.Spec.AllowedNamespaces, namespace)
	if err == nil && !ok {
		return fmt.Errorf("the AgentRole %s/%s can no longer be used in the namespace %s: its allowedNamespaces do not include it", roleNamespace, name, namespace)
	}
	return err
}

// withDefaults returns r with a value for what must be set. It does not change the limits that r points to.
func withDefaults(r role.Role) role.Role {
	limits := ptr.Deref(r.Limits, v1beta1.RoleLimits{})
	limits.MaxIterations = cmp.Or(limits.MaxIterations, defaultIterations)
	limits.MaxDurationSeconds = cmp.Or(limits.MaxDurationSeconds, defaultSeconds)
	r.Limits = &limits
	r.MaxOutputTokens = cmp.Or(r.MaxOutputTokens, defaultOutputTokens)
	return r
}
