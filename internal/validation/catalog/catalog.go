// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package catalog looks up what an object refers to, for the verdict about it.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
	"github.com/nestor-dev/nestor/internal/validation"
)

// Cluster looks up references as the controllers do. It reads no Secret and no ConfigMap.
type Cluster struct{ Finder resolve.Finder }

// Of returns what the cluster has of the references and tools of an object.
func (c Cluster) Of(ctx context.Context, namespace string, object runtime.Object) (validation.Catalog, error) {
	result := validation.Catalog{Missing: map[validation.Reference]string{}}
	for _, reference := range validation.References(object) {
		err := c.find(ctx, namespace, reference)
		var missing *resolve.Missing
		switch {
		case errors.As(err, &missing):
			result.Missing[reference] = missing.Message
		case err != nil:
			return validation.Catalog{}, err
		case reference.Kind == validation.KindToolServer:
			result.Unlisted = append(result.Unlisted, reference.Name) // until its tools are found below
		}
	}
	if len(validation.Globs(object)) == 0 {
		return result, nil
	}
	if err := c.addTools(ctx, namespace, &result); err != nil {
		return result, err
	}
	if _, judges := object.(*v1beta1.ToolPolicy); judges {
		return result, c.addOwnTools(ctx, namespace, &result)
	}
	return result, nil
}

// addOwnTools adds the tools that act on the agent itself, and the roles that are offered as tools: policies judge their calls, too.
func (c Cluster) addOwnTools(ctx context.Context, namespace string, result *validation.Catalog) error {
	result.Tools = append(result.Tools, agent.ControlTools()...)
	var roles v1beta1.AgentRoleList
	if err := c.Finder.Reader.List(ctx, &roles); err != nil {
		return fmt.Errorf("list the roles that are tools: %w", err)
	}
	for _, role := range roles.Items {
		if role.Spec.AsTool != nil && (role.Namespace == namespace || role.Namespace == c.Finder.OperatorNamespace) {
			result.Tools = append(result.Tools, role.Spec.AsTool.Name)
		}
	}
	return nil
}

// Live looks up references for a request: what was created just before may not be in the cache yet.
type Live struct{ Finder resolve.Finder }

// Of is that of Cluster.
func (l Live) Of(ctx context.Context, namespace string, object runtime.Object) (validation.Catalog, error) {
	l.Finder.Begin(namespace)
	return Cluster(l).Of(ctx, namespace, object)
}

// find returns a *resolve.Missing if a reference cannot be used.
func (c Cluster) find(ctx context.Context, namespace string, r validation.Reference) (err error) {
	switch r.Kind {
	case validation.KindRole:
		_, err = c.Finder.WithoutTexts(ctx, namespace, r.Name)
	case validation.KindProvider:
		_, err = c.Finder.Provider(ctx, namespace, r.Name)
	case validation.KindToolServer:
		_, err = c.Finder.ToolServer(ctx, namespace, r.Name)
	case validation.KindChat:
		err = c.Finder.Find(ctx, types.NamespacedName{Namespace: namespace, Name: r.Name}, &v1beta1.AgentChat{})
		if apierrors.IsNotFound(err) {
			return &resolve.Missing{Message: fmt.Sprintf("Create the AgentChat %q in the namespace %s.", r.Name, namespace)}
		}
	}
	return err
}

// addTools adds the tools that agents of the namespace may have.
func (c Cluster) addTools(ctx context.Context, namespace string, result *validation.Catalog) error {
	names := append(builtin.Names(), builtin.ReadSkill, toolspec.ReviewTool, toolspec.PublishTool)
	files, err := toolspec.Specs(false)
	if err != nil {
		return fmt.Errorf("list the tools of workspaces: %w", err)
	}
	for _, file := range files {
		names = append(names, file.Name)
	}
	servers, err := c.Finder.ToolServers(ctx, namespace)
	if err != nil {
		return err
	}
	for _, server := range servers {
		for _, listed := range server.Status.Tools {
			names = append(names, tool.ServerToolName(tool.ServerPrefix(server.Name), listed.Name))
		}
		result.Unlisted = slices.DeleteFunc(result.Unlisted, func(name string) bool { return name == server.Name })
		// The status has the first tools only, and none of a server that has not answered.
		if len(server.Status.Tools) == 0 || int(server.Status.ToolCount) > len(server.Status.Tools) {
			result.Unlisted = append(result.Unlisted, server.Name)
		}
	}
	result.Tools = names
	return nil
}
