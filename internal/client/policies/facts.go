// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/policy"
	"github.com/nestor-dev/nestor/internal/tool"
)

// Facts are what the record of a call does not contain: ToolServers, roles and workspaces as they are now. The usage of
// the tree at the time and the requesters of the work are not known.
type Facts struct {
	finder    resolve.Finder
	namespace string
	servers   map[string]*v1beta1.ToolServer
	roles     map[string]*bool
	roots     map[types.UID]root
}

// root is the chat or task at the root of a tree.
type root struct {
	workspace *v1beta1.Workspace
	authors   []string
}

// NewFacts reads the workspaces of a namespace.
func NewFacts(ctx context.Context, api client.Reader, namespace, operatorNamespace string) (*Facts, error) {
	f := &Facts{
		finder: resolve.Finder{Reader: api, Live: api, OperatorNamespace: operatorNamespace}, namespace: namespace,
		servers: map[string]*v1beta1.ToolServer{}, roles: map[string]*bool{}, roots: map[types.UID]root{},
	}
	var chats v1beta1.AgentChatList
	var tasks v1beta1.AgentTaskList
	var agents v1beta1.SubAgentList
	for _, list := range []client.ObjectList{&chats, &tasks, &agents} {
		if err := api.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
	}
	for _, c := range chats.Items {
		f.roots[c.UID] = root{c.Spec.Workspace, []string{c.Spec.User}}
	}
	for _, t := range tasks.Items {
		f.roots[t.UID] = root{t.Spec.Workspace, []string{t.Spec.User, t.Spec.FireUser}}
	}
	for _, a := range agents.Items {
		if owner := metav1.GetControllerOf(&a); owner != nil {
			if task, known := f.roots[owner.UID]; known {
				f.roots[a.UID] = task
			}
		}
	}
	return f, nil
}

// input returns what policies read about a recorded call.
func (f *Facts) input(ctx context.Context, page historyv1.TranscriptCalls, m historyv1.CallMoment) (policy.Input, error) {
	in := policy.Input{
		Call:  policy.Call{Tool: m.Tool, Arguments: json.RawMessage(m.Arguments), ReadOnly: m.ReadOnly, Role: m.TargetRole},
		Agent: policy.Agent{Role: page.Agent.Role, Namespace: f.namespace, Depth: int(page.Agent.Depth)}, Now: m.Time.Time,
	}
	for _, l := range m.ContentLabels {
		in.Labels = append(in.Labels, l.Name)
	}
	slices.Sort(in.Labels)
	if page.Agent.Kind == "AgentTask" {
		in.Agent.Role = page.CallerRole
		if page.Agent.Parent != "" && page.CallerRole == "" {
			in.Unknown = append(in.Unknown, "agent.role")
		}
	}
	if as := m.JudgedAs; as != nil {
		in.Agent.Role, in.Agent.Depth = as.Role, int(as.Depth)
	}
	top, known := f.roots[page.Agent.Root]
	switch {
	case !known:
		in.Unknown = append(in.Unknown, "workspace")
	case top.workspace != nil:
		in.Workspace = policy.WorkspaceOf(*top.workspace)
	}
	if known && m.Requesters != nil {
		in.Agent.Requesters = policy.RequestersOf(m.Requesters.Users, m.Requesters.Unknown, top.authors)
	} else {
		in.Unknown = append(in.Unknown, "agent.requesters")
	}
	if used := m.Usage; used != nil {
		in.Usage = policy.Usage{Tokens: used.Tokens, CostMicros: used.CostMicros, Tasks: used.Tasks, Writes: used.Writes}
	} else {
		in.Unknown = append(in.Unknown, "usage")
	}
	err := f.addTarget(ctx, m, &in)
	return in, err
}

// addTarget describes the tool or role that is called, as the operator does for calls of now.
func (f *Facts) addTarget(ctx context.Context, m historyv1.CallMoment, in *policy.Input) error {
	if m.TargetRole != "" {
		remote, err := f.remote(ctx, m.TargetRole)
		if remote == nil || err != nil {
			in.Unknown = append(in.Unknown, "call.readOnly", "call.target.remote")
			return err
		}
		in.Call.Remote, in.Call.ReadOnly = *remote, !*remote
		return nil
	}
	name, ok := tool.ServerOf(m.Tool)
	if !ok || m.Control {
		return nil
	}
	in.Call.Server = name
	server, err := f.server(ctx, name)
	if server == nil || err != nil {
		in.Unknown = append(in.Unknown, "call.readOnly")
		return err
	}
	in.Call.ReadOnly = slices.ContainsFunc(server.Spec.ReadOnlyTools, func(own string) bool {
		return tool.ServerToolName(tool.ServerPrefix(name), own) == m.Tool
	})
	return nil
}

// remote reports whether a role is a remote agent; nil if the role does not exist any more or may not be read.
func (f *Facts) remote(ctx context.Context, name string) (*bool, error) {
	if remote, known := f.roles[name]; known {
		return remote, nil
	}
	found, err := f.finder.WithoutTexts(ctx, f.namespace, name)
	if err = ifReadable(err); err != nil {
		return nil, err
	}
	f.roles[name] = nil
	if found.Name != "" {
		remote := found.Remote != nil
		f.roles[name] = &remote
	}
	return f.roles[name], nil
}

// server returns a ToolServer; nil if it does not exist any more or may not be read.
func (f *Facts) server(ctx context.Context, name string) (*v1beta1.ToolServer, error) {
	if server, known := f.servers[name]; known {
		return server, nil
	}
	server, err := f.finder.ToolServer(ctx, f.namespace, name)
	if unreadable := err != nil; unreadable {
		server, err = nil, ifReadable(err)
	}
	if err == nil {
		f.servers[name] = server
	}
	return server, err
}

// ifReadable returns an error, unless it is that an object does not exist or may not be read.
func ifReadable(err error) error {
	var missing *resolve.Missing
	if errors.As(err, &missing) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}
