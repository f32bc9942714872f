// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/toolserver"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// ForObject returns all tools that the agent of an object could have, before its role's policy is applied. The error
// for a missing reference is a *resolve.Missing.
func (t *Tools) ForObject(ctx context.Context, object client.Object, r role.Role) (tool.Set, error) {
	set, err := t.ForRole(ctx, object.GetNamespace(), r)
	if err != nil {
		return tool.Set{}, err
	}
	files, err := t.filesOf(ctx, object)
	if err != nil {
		return tool.Set{}, err
	}
	return set.Union(files)
}

// filesOf returns the tools of an object's workspace, or none if it has no workspace.
func (t *Tools) filesOf(ctx context.Context, object client.Object) (tool.Set, error) {
	place, err := t.Workspaces.Of(ctx, object)
	if err != nil {
		return tool.Set{}, err
	}
	if err := t.Workspaces.Check(ctx, place); err != nil {
		return tool.Set{}, err
	}
	return t.Workspaces.Tools(place)
}

// ForTool returns a set that contains the named tool, regardless of any role's policy: a task of type Tool names its
// tool itself. The error for a tool that does not exist is a *resolve.Missing.
func (t *Tools) ForTool(ctx context.Context, object client.Object, r role.Role, name string) (tool.Set, error) {
	if name == builtin.ReadSkill && len(r.SkillTexts) > 0 {
		return t.skillTool(object.GetNamespace(), r.Name, r.Revision)
	}
	set, where, err := t.findTool(ctx, object, name)
	if err != nil {
		return tool.Set{}, err
	}
	if _, ok := set.Lookup(name); !ok {
		return tool.Set{}, &resolve.Missing{Reason: v1beta1.ReasonToolNotFound,
			Message: fmt.Sprintf("There is no tool %q: %s. Name another tool, or add this one.", name, where)}
	}
	return set, nil
}

// findTool returns the set that the named tool would belong to, and a clause for the message if the tool is not in it.
func (t *Tools) findTool(ctx context.Context, object client.Object, name string) (set tool.Set, where string, err error) {
	if server, _, ok := strings.Cut(name, "__"); ok {
		used, err := t.server(ctx, object.GetNamespace(), server)
		if err != nil {
			return tool.Set{}, "", err
		}
		set, err = used.tools()
		return set, fmt.Sprintf("the ToolServer %q does not offer it", server), err
	}
	if t.Workspaces.Offers(name) {
		set, err = t.filesOf(ctx, object)
		return set, "it needs a workspace, and there is none", err
	}
	set, err = t.builtIn(ctx, object.GetNamespace())
	return set, "it is not a built-in tool of the namespace", err
}

// ForRole returns all tools that agents with a role could have, before its policy is applied. The error is a
// *resolve.Missing if a tool server that the role names does not exist or is not ready. A glob names no server: it
// selects from the servers that are ready.
func (t *Tools) ForRole(ctx context.Context, namespace string, r role.Role) (tool.Set, error) {
	set, err := t.builtIn(ctx, namespace)
	if err != nil {
		return tool.Set{}, err
	}
	if len(r.SkillTexts) > 0 {
		skills, err := t.skillTool(namespace, r.Name, r.Revision)
		if err != nil {
			return tool.Set{}, err
		}
		if set, err = set.Union(skills); err != nil {
			return tool.Set{}, err
		}
	}
	named := serversOf(r)
	for _, server := range named {
		used, err := t.server(ctx, namespace, server)
		if err != nil {
			return tool.Set{}, err
		}
		more, err := used.tools()
		if err != nil {
			return tool.Set{}, err
		}
		if set, err = set.Union(more); err != nil {
			return tool.Set{}, fmt.Errorf("add the tools of %s: %w", server, err)
		}
	}
	return t.addMatching(ctx, namespace, r, named, set)
}

// addMatching adds the tools of the ToolServers that match the role's globs and are not in named.
func (t *Tools) addMatching(ctx context.Context, namespace string, r role.Role, named []string, set tool.Set) (tool.Set, error) {
	globs := globsOf(r)
	if len(globs) == 0 {
		return set, nil
	}
	servers, err := t.Finder.ToolServers(ctx, namespace)
	if err != nil {
		return tool.Set{}, err
	}
	for i := range servers {
		object := &servers[i]
		mayMatch := slices.ContainsFunc(globs, func(glob string) bool { return tool.MayMatchToolsOf(glob, object.Name) })
		if !mayMatch || slices.Contains(named, object.Name) {
			continue
		}
		session := t.sessionWith(namespace, object)
		ready := meta.IsStatusConditionTrue(object.Status.Conditions, v1beta1.ConditionReady)
		if status := session.Status(); ready && status.Reason == mcp.Connecting {
			// This namespace has just started to use the server. The session wakes the waiting agents when its tools are listed.
			return tool.Set{}, &resolve.Missing{Reason: v1beta1.ReasonToolServerNotReady,
				Message: fmt.Sprintf("The operator is listing the tools of the ToolServer %q.", object.Name)}
		}
		pins, err := t.pins(ctx, object, session)
		if err != nil {
			return tool.Set{}, err
		}
		more, err := session.Offered(pins)
		if err != nil {
			return tool.Set{}, err
		}
		if set, err = set.Union(more); err != nil {
			return tool.Set{}, fmt.Errorf("add the tools of %s: %w", object.Name, err)
		}
	}
	return set, nil
}

// pins returns the pins of a ToolServer; without pins no tool is offered. The caches of different kinds are not
// synchronized: an agent may appear before the status of a server that was ready earlier, and would keep the tools that
// it starts with. The API server has the status.
func (t *Tools) pins(ctx context.Context, object *v1beta1.ToolServer, session *mcp.Session) (mcp.Pins, error) {
	if pins, ok := toolserver.Pins(object); ok || !session.Status().Ready {
		return pins, nil
	}
	var current v1beta1.ToolServer
	if err := t.Finder.Live.Get(ctx, client.ObjectKeyFromObject(object), &current); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get the tool server %s/%s: %w", object.Namespace, object.Name, err)
	}
	pins, _ := toolserver.Pins(&current)
	return pins, nil
}

// serversOf returns the names of ToolServers in a role's policy.
func serversOf(r role.Role) []string {
	if r.Tools == nil {
		return nil
	}
	var servers []string
	for _, glob := range r.Tools.Allow {
		if name, ok := tool.ServerOf(glob); ok && !slices.Contains(servers, name) {
			servers = append(servers, name)
		}
	}
	return servers
}

// globsOf returns the entries of a role's policy that select from all servers.
func globsOf(r role.Role) []string {
	if r.Tools == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Tools.Allow), func(glob string) bool { return !tool.SelectsServers(glob) })
}

func (t *Tools) server(ctx context.Context, namespace, name string) (serverTools, error) {
	object, err := t.Finder.ToolServer(ctx, namespace, name)
	if err != nil {
		return serverTools{}, err
	}
	return serverTools{object, t.sessionWith(namespace, object)}, nil
}

func (t *Tools) sessionWith(namespace string, object *v1beta1.ToolServer) *mcp.Session {
	return t.Pool.Ensure(toolserver.Server(t.Finder, t.Logins, object, toolserver.SessionKey(namespace, object)))
}
