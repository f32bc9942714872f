// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/toolserver"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/login"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// Tools finds the tools of agents: the built-in tools, the tools of the ToolServers that the role names, and the tools
// of the workspace of the chat or task.
type Tools struct {
	Finder resolve.Finder
	Pool   *mcp.Pool
	// Reviews creates access reviews.
	Reviews client.Writer
	// Workspaces provides the tools of agents with a workspace.
	Workspaces *workspace.Workspaces
	// NextChange returns a channel that is closed when a ToolServer or a session has changed.
	NextChange func() <-chan struct{}
	// Results reads full outputs for read_result.
	Results builtin.Results
	// Logins has the logins of people at tool servers; nil if people cannot log in. Requesters returns who asked for the
	// work of an agent.
	Logins     *login.Service
	Requesters func(context.Context, ledger.Agent) (agent.Requesters, error)
	// SearchURL is the endpoint of web searches; empty means the default.
	SearchURL string

	mu   sync.Mutex
	sets map[bool]tool.Set // the built-in tools, without and with web searches
}

// secretName and searchKey name the Secret of a namespace, and the key in it, that hold the API key for web searches.
const (
	secretName = "nestor-tools"
	searchKey  = "TAVILY_API_KEY"
)

// Set implements engine.Tools. The tools of an agent were decided when it started, so its role is not consulted again.
func (t *Tools) Set(ctx context.Context, a ledger.Agent, name string) (tool.Set, error) {
	if server, _, ok := strings.Cut(name, "__"); ok {
		used, err := t.server(ctx, a.Namespace, server)
		var missing *resolve.Missing
		if errors.As(err, &missing) && missing.Reason == v1beta1.ReasonToolServerNotFound {
			return tool.Set{}, fmt.Errorf("the ToolServer %s was deleted, or can no longer be used in the namespace %s", server, a.Namespace)
		}
		if err != nil {
			return tool.Set{}, err
		}
		used.session.WaitForStatus(ctx) // after a restart of the operator the session may still be connecting, which is no failure of the server
		if used, err = t.pinned(ctx, a.Namespace, used); err != nil {
			return tool.Set{}, err
		}
		if err := t.checkUseOf(ctx, a, used.object); err != nil {
			return tool.Set{}, err
		}
		offered, err := used.tools()
		if err != nil || !toolserver.NeedsLogin(used.object) {
			return offered, err
		}
		return t.asPerson(a, used, offered, name)
	}
	if t.Workspaces.Offers(name) {
		return t.Workspaces.ToolsOf(ctx, a)
	}
	if name == builtin.ReadSkill {
		return t.skillTool(a.Namespace, a.Role, a.RoleRevision)
	}
	return t.builtIn(ctx, a.Namespace)
}

// builtIn returns the built-in tools of a namespace, including web search if the namespace has a key for it.
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
		return tool.Set{}, fmt.Errorf("create the built-in tools: %w", err)
	}
	if t.sets == nil {
		t.sets = map[bool]tool.Set{}
	}
	t.sets[searches] = set
	return set, nil
}

// serverTools is a ToolServer and the session that a namespace has with it.
type serverTools struct {
	object  *v1beta1.ToolServer
	session *mcp.Session
}

// listTimeout is how long a call waits for the first list of a ready server's tools.
const listTimeout = 15 * time.Second

// pinned waits until the tools of a server are pinned. They are not if the server is new; its agents may already be
// running if it replaces another one.
func (t *Tools) pinned(ctx context.Context, namespace string, used serverTools) (serverTools, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	for !toolserver.Pinned(used.object) && used.session.Status().Ready {
		changed := t.NextChange()
		again, err := t.server(ctx, namespace, used.object.Name)
		if err != nil {
			return used, err
		}
		if used = again; toolserver.Pinned(used.object) {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return used, nil // serverTools.tools reports why
		}
	}
	return used, nil
}

// tools returns the tools of a ToolServer that match their pins.
func (s serverTools) tools() (tool.Set, error) {
	if status := s.session.Status(); !status.Ready && s.session.Tools().Len() == 0 {
		return tool.Set{}, &resolve.Missing{Reason: v1beta1.ReasonToolServerNotReady,
			Message: fmt.Sprintf("The ToolServer %q is not ready: %s", s.object.Name, status.Message)}
	}
	if !toolserver.Pinned(s.object) {
		return tool.Set{}, &resolve.Missing{Reason: v1beta1.ReasonToolServerNotReady,
			Message: fmt.Sprintf("The tools of the ToolServer %q are being listed for the first time.", s.object.Name)}
	}
	version := string(s.object.UID) + "/" + s.object.ResourceVersion
	set, err := s.session.OfferedAt(version, func() mcp.Pins {
		pins, _ := toolserver.Pins(s.object)
		return pins
	})
	content := tool.Content{Trusted: s.object.Spec.Trusted, Labels: v1beta1.ContentNames(s.object.Spec.ContentLabels)}
	if err != nil || !content.Trusted && len(content.Labels) == 0 {
		return set, err
	}
	return set.WithContent(content), nil
}

func (t *Tools) SearchKey(ctx context.Context, namespace string) (string, error) {
	value, err := t.Finder.Secret(ctx, namespace, v1beta1.SecretKeyRef{Name: secretName, Key: searchKey})
	var missing *resolve.Missing
	if errors.As(err, &missing) {
		return "", builtin.ErrNoKey
	}
	return strings.TrimSpace(string(value)), err
}

// FullOutputs reads full outputs of tools from the ledger.
type FullOutputs struct {
	Ledger ledger.Calls
	// State returns the state of an agent.
	State func(ctx context.Context, uid string) (agent.State, error)
}

// maxOutput bounds how much of an output is read into memory.
const maxOutput = 16 << 20

// FullOutput implements builtin.Results. What an isolated agent has read is not found, nor is the output of an agent
// that may have been one.
func (w FullOutputs) FullOutput(ctx context.Context, reader, reference string) (builtin.Recorded, error) {
	output, err := w.Ledger.ToolOutput(ctx, reader, reference, 0, maxOutput)
	if errors.Is(err, ledger.ErrNotFound) {
		return builtin.Recorded{}, builtin.ErrNoResult
	}
	if errors.Is(err, ledger.ErrPruned) {
		return builtin.Recorded{}, builtin.ErrPruned
	}
	if err != nil {
		return builtin.Recorded{}, err
	}
	author, err := w.State(ctx, output.Agent)
	if err == nil && (author.Config.Isolated || author.Config.Kind == "") {
		err = builtin.ErrNoResult
	}
	if err != nil {
		return builtin.Recorded{}, err
	}
	return builtin.Recorded{Text: string(output.Data), Labels: author.LabelNames()}, nil
}
