// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package roles lists the roles that agents of a namespace can have, with the permissions of the reader.
package roles

import (
	"context"
	"errors"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/role"
)

// Entry is a role of a namespace.
type Entry struct {
	role.Role `json:",inline"`
	// Source is where the role comes from.
	Source string `json:"source"`
	// Problem is the reason why the role cannot be used.
	Problem string `json:"problem,omitempty"`
}

// List returns the roles that a namespace may use, resolved as the operator does.
func List(ctx context.Context, api client.Reader, namespace, operatorNamespace string) ([]Entry, error) {
	var here, shared v1beta1.AgentRoleList
	if err := api.List(ctx, &here, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	finder := resolve.Finder{Reader: api, Live: api, OperatorNamespace: operatorNamespace}
	if err := api.List(ctx, &shared, client.InNamespace(operatorNamespace)); err != nil || namespace == operatorNamespace {
		// Most users may not read the operator's namespace; its shared roles are then not listed.
		finder.OperatorNamespace, shared.Items = namespace, nil
	}
	objects := map[string]*v1beta1.AgentRole{}
	for _, list := range []v1beta1.AgentRoleList{shared, here} {
		for i := range list.Items {
			if object := &list.Items[i]; !finder.BuiltIn(object) {
				objects[object.Name] = object
			}
		}
	}
	var entries []Entry
	for _, name := range union(role.Names(), slices.Collect(maps.Keys(objects))) {
		entry, usable, err := entryOf(ctx, finder, namespace, name, objects[name])
		if err != nil {
			return nil, err
		}
		if usable {
			entries = append(entries, entry)
		}
	}
	return entries, nil
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// entryOf returns the role with a name, given the AgentRole of that name if there is one. It reports false for a
// shared role that this namespace may not use.
func entryOf(ctx context.Context, finder resolve.Finder, namespace, name string, object *v1beta1.AgentRole) (Entry, bool, error) {
	builtIn, isBuiltIn := role.BuiltIn(name)
	definition, err := read(ctx, finder, namespace, name)
	var missing *resolve.Missing
	switch {
	case errors.As(err, &missing) && object != nil && object.Namespace == namespace:
		builtIn.Name = name
		return Entry{Role: builtIn, Source: "namespace", Problem: missing.Reason + ": " + missing.Message}, true, nil
	case errors.As(err, &missing):
		return Entry{}, false, nil
	case err != nil:
		return Entry{}, false, err
	}
	entry := Entry{Role: definition, Source: "built in"}
	if object == nil || (isBuiltIn && object.Namespace != namespace && definition.SystemPrompt == builtIn.SystemPrompt && definition.Model == builtIn.Model) {
		return entry, true, nil
	}
	if len(entry.SkillTexts) == 0 { // the reader may not read the ConfigMaps
		for _, s := range object.Status.Skills {
			entry.SkillTexts = append(entry.SkillTexts, role.Skill{Name: s.Name, Description: s.Description, ConfigMap: s.ConfigMapName})
		}
	}
	entry.Source = "namespace"
	if object.Namespace != namespace {
		entry.Source = "shared"
	}
	if definition.Remote != nil {
		entry.Source += ", remote"
	}
	if isBuiltIn {
		entry.Source += ", overrides a built-in role"
	}
	if c := meta.FindStatusCondition(object.Status.Conditions, v1beta1.ConditionReady); c != nil && c.Status == "False" {
		entry.Problem = c.Reason + ": " + c.Message
	}
	return entry, true, nil
}

func Get(ctx context.Context, api client.Reader, namespace, operatorNamespace, name string) (role.Role, error) {
	finder := resolve.Finder{Reader: api, Live: api, OperatorNamespace: operatorNamespace}
	definition, err := read(ctx, finder, namespace, name)
	if apierrors.IsForbidden(err) && namespace != operatorNamespace {
		// Most users may not read the operator's namespace; its shared roles are then not found.
		finder.OperatorNamespace = namespace
		definition, err = read(ctx, finder, namespace, name)
	}
	return definition, err
}

// read reads a role, without the texts in ConfigMaps if the reader may not read those.
func read(ctx context.Context, finder resolve.Finder, namespace, name string) (role.Role, error) {
	definition, err := finder.Role(ctx, namespace, name)
	if apierrors.IsForbidden(err) {
		return finder.WithoutTexts(ctx, namespace, name)
	}
	return definition, err
}
