// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/admission"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

// Cluster looks up references as the controllers do. It reads no Secret and no ConfigMap.
type Cluster struct{ Finder resolve.Finder }

// Of implements Catalogs.
func (c Cluster) Of(ctx context.Context, namespace string, object runtime.Object) (admission.Catalog, error) {
	catalog := admission.Catalog{Missing: map[admission.Reference]string{}}
	c.Finder.Begin(namespace) // what was created just before may not be in the cache yet
	for _, reference := range admission.References(object) {
		err := c.find(ctx, namespace, reference)
		var missing *resolve.Missing
		switch {
		case errors.As(err, &missing):
			catalog.Missing[reference] = missing.Message
		case err != nil:
			return admission.Catalog{}, err
		case reference.Kind == admission.KindToolServer:
			catalog.Unlisted = append(catalog.Unlisted, reference.Name) // until its tools are found below
		}
	}
	if len(admission.Globs(object)) == 0 {
		return catalog, nil
	}
	return catalog, c.addTools(ctx, namespace, &catalog)
}

// find returns a *resolve.Missing if a reference cannot be used.
func (c Cluster) find(ctx context.Context, namespace string, r admission.Reference) (err error) {
	switch r.Kind {
	case admission.KindRole:
		_, err = c.Finder.WithoutTexts(ctx, namespace, r.Name)
	case admission.KindProvider:
		_, err = c.Finder.Provider(ctx, namespace, r.Name)
	case admission.KindToolServer:
		_, err = c.Finder.ToolServer(ctx, namespace, r.Name)
	case admission.KindChat:
		err = c.Finder.Find(ctx, types.NamespacedName{Namespace: namespace, Name: r.Name}, &v1beta1.AgentChat{})
		if apierrors.IsNotFound(err) {
			return &resolve.Missing{Message: fmt.Sprintf("Create the AgentChat %q in the namespace %s.", r.Name, namespace)}
		}
	}
	return err
}

// addTools adds the tools that agents of the namespace may have.
func (c Cluster) addTools(ctx context.Context, namespace string, catalog *admission.Catalog) error {
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
			names = append(names, mcp.ToolName(mcp.Prefix(server.Name), listed.Name))
		}
		catalog.Unlisted = slices.DeleteFunc(catalog.Unlisted, func(name string) bool { return name == server.Name })
		// The status has the first tools only, and none of a server that has not answered.
		if len(server.Status.Tools) == 0 || int(server.Status.ToolCount) > len(server.Status.Tools) {
			catalog.Unlisted = append(catalog.Unlisted, server.Name)
		}
	}
	catalog.Tools = names
	return nil
}
