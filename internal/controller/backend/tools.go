// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
	"github.com/nestor-dev/nestor/internal/controller/toolserver"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// Tools finds the tools that agents use: the built-in ones, those of the ToolServers that their role names, and those of the
// workspace that their chat or task has.
type Tools struct {
	Finder resolve.Finder
	Pool   *mcp.Pool
	// Workspaces has the tools of agents that were given files.
	Workspaces *workspace.Workspaces
	// Results finds whole outputs for read_result.
	Results builtin.Results
	// SearchURL is where web searches go; empty is the usual place.
	SearchURL string

	mu   sync.Mutex
	sets map[bool]tool.Set // the built-in tools, without and with web searches
}

// secretName and searchKey are where a namespace keeps the key for web searches.
const (
	secretName = "nestor-tools"
	searchKey  = "TAVILY_API_KEY"
)

// Set implements engine.Tools. Which tools an agent has was settled when it began: here its role does not matter any more.
func (t *Tools) Set(ctx context.Context, a ledger.Agent, name string) (tool.Set, error) {
	if server, _, ok := strings.Cut(name, "__"); ok {
		session, err := t.session(ctx, a.Namespace, server)
		if err != nil {
			return tool.Set{}, err
		}
		session.Settle(ctx) // an operator that has just started is still connecting, which is no failure of the server's
		return offered(server, session)
	}
	if t.Workspaces.Offers(name) {
		return t.Workspaces.ToolsOf(ctx, a)
	}
	return t.builtIn(ctx, a.Namespace)
}

// ForObject returns all tools that the agent of an object could have, before its role's policy is applied. What is missing is
// a *resolve.Missing.
func (t *Tools) ForObject(ctx context.Context, object client.Object, r role.Role) (tool.Set, error) {
	set, err := t.ForRole(ctx, object.GetNamespace(), r)
	if err != nil {
		return tool.Set{}, err
	}
	place, err := t.Workspaces.Of(ctx, object)
	if err != nil {
		return tool.Set{}, err
	}
	if err := t.Workspaces.Check(ctx, place); err != nil {
		return tool.Set{}, err
	}
	files, err := t.Workspaces.Tools(place)
	if err != nil {
		return tool.Set{}, err
	}
	return set.Union(files)
}

// builtIn returns the built-in tools of a namespace: with web searches where it has a key for them.
func (t *Tools) builtIn(ctx context.Context, namespace string) (tool.Set, error) {
	_, err := t.SearchKey(ctx, namespace)
	searches := err == nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if set, ok := t.sets[searches]; ok {
		return set, nil
	}
	options := builtin.Options{Results: t.Results}
	if searches {
		options.Search = &builtin.Search{Keys: t, BaseURL: t.SearchURL}
	}
	set, err := builtin.New(options)
	if err != nil {
		return tool.Set{}, fmt.Errorf("make the built-in tools: %w", err)
	}
	if t.sets == nil {
		t.sets = map[bool]tool.Set{}
	}
	t.sets[searches] = set
	return set, nil
}

// ForRole returns all tools that agents with a role could have, before its policy is applied. A tool server that is
// missing or not ready is a *resolve.Missing.
func (t *Tools) ForRole(ctx context.Context, namespace string, r role.Role) (tool.Set, error) {
	set, err := t.builtIn(ctx, namespace)
	if err != nil {
		return tool.Set{}, err
	}
	for _, server := range serversOf(r) {
		session, err := t.session(ctx, namespace, server)
		if err != nil {
			return tool.Set{}, err
		}
		more, err := offered(server, session)
		if err != nil {
			return tool.Set{}, err
		}
		if set, err = set.Union(more); err != nil {
			return tool.Set{}, fmt.Errorf("add the tools of %s: %w", server, err)
		}
	}
	return set, nil
}

// serversOf returns the ToolServers that a role's policy names: the part of an entry before "__".
func serversOf(r role.Role) []string {
	if r.Tools == nil {
		return nil
	}
	var servers []string
	for _, glob := range r.Tools.Allow {
		name, _, ok := strings.Cut(glob, "__")
		if ok && !strings.ContainsAny(name, "*?") && !slices.Contains(servers, name) {
			servers = append(servers, name)
		}
	}
	return servers
}

// session is that of the namespace with a ToolServer.
func (t *Tools) session(ctx context.Context, namespace, name string) (*mcp.Session, error) {
	object, err := t.Finder.ToolServer(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	key := mcp.Key{Namespace: namespace, Server: name}
	if object.Namespace != namespace {
		key.Server = object.Namespace + "/" + name
	}
	return t.Pool.Ensure(toolserver.Server(t.Finder, object, key)), nil
}

// offered are the tools of a ToolServer.
func offered(name string, session *mcp.Session) (tool.Set, error) {
	if status := session.Status(); !status.Ready && session.Tools().Len() == 0 {
		return tool.Set{}, &resolve.Missing{Reason: v1alpha1.ReasonToolServerNotReady,
			Message: fmt.Sprintf("The ToolServer %q is not ready: %s", name, status.Message)}
	}
	return session.Tools(), nil
}

// SearchKey implements builtin.KeySource.
func (t *Tools) SearchKey(ctx context.Context, namespace string) (string, error) {
	value, err := t.Finder.Secret(ctx, namespace, v1alpha1.SecretKeyRef{Name: secretName, Key: searchKey})
	var missing *resolve.Missing
	if errors.As(err, &missing) {
		return "", builtin.ErrNoKey
	}
	return strings.TrimSpace(string(value)), err
}

// WholeOutputs finds what tools gave back in the ledger.
type WholeOutputs struct{ Ledger ledger.Calls }

// maxOutput is how much of one output is read into memory.
const maxOutput = 16 << 20

// WholeOutput implements builtin.Results.
func (w WholeOutputs) WholeOutput(ctx context.Context, agent, callID string) (string, error) {
	output, err := w.Ledger.ToolOutput(ctx, agent, callID, 0, maxOutput)
	if errors.Is(err, ledger.ErrNotFound) {
		return "", builtin.ErrNoResult
	}
	return string(output.Data), err
}
