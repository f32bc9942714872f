// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolpolicy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/policy"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// Store has the policies of the cluster, compiled once for each generation. It implements engine.Policies and answers
// from memory.
type Store struct {
	// Finder finds ToolServers, roles and namespaces in the cache.
	Finder resolve.Finder

	mu       sync.RWMutex
	policies map[types.NamespacedName]*entry
	synced   func() bool
}

// entry is a policy and the namespaces to which it applies.
type entry struct {
	*policy.Policy
	uid        types.UID
	generation int64
	namespaces *v1beta1.AllowedNamespaces
}

var errNotSynced = errors.New("the operator has not read the ToolPolicies yet")

// Watch begins to read the policies.
func (s *Store) Watch(ctx context.Context, informers cache.Informers) error {
	informer, err := informers.GetInformer(ctx, &v1beta1.ToolPolicy{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch ToolPolicies: %w", err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: s.set, UpdateFunc: func(_, now any) { s.set(now) }, DeleteFunc: s.remove,
	})
	if err != nil {
		return fmt.Errorf("watch ToolPolicies: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced = registration.HasSynced
	return nil
}

func (s *Store) set(object any) {
	p, ok := object.(*v1beta1.ToolPolicy)
	if !ok {
		return
	}
	name := client.ObjectKeyFromObject(p)
	s.mu.RLock()
	old := s.policies[name]
	s.mu.RUnlock()
	if old != nil && old.uid == p.UID && old.generation == p.Generation {
		return
	}
	compiled, _ := policy.Compile(p) // one that does not compile makes the calls that it matches wait
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.policies == nil {
		s.policies = map[types.NamespacedName]*entry{}
	}
	s.policies[name] = &entry{compiled, p.UID, p.Generation, p.Spec.Namespaces}
}

func (s *Store) remove(object any) {
	if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if p, ok := object.(*v1beta1.ToolPolicy); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.policies, client.ObjectKeyFromObject(p))
	}
}

// Apply implements engine.Policies.
func (s *Store) Apply(namespace string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.synced == nil || !s.synced() {
		return true
	}
	for name, p := range s.policies {
		if applies, err := s.applies(context.Background(), name, p, namespace); applies || err != nil {
			return true
		}
	}
	return false
}

// applies reports whether a policy is about the agents of a namespace.
func (s *Store) applies(ctx context.Context, name types.NamespacedName, p *entry, namespace string) (bool, error) {
	if name.Namespace == namespace {
		return true, nil
	}
	if name.Namespace != s.Finder.OperatorNamespace {
		return false, nil
	}
	if p.namespaces != nil {
		if _, err := metav1.LabelSelectorAsSelector(p.namespaces.Selector); err != nil {
			return true, nil //nolint:nilerr // it may select any namespace, and has no verdicts until it is corrected
		}
	}
	allows, err := s.Finder.Allows(ctx, p.namespaces, namespace)
	if err != nil {
		return false, fmt.Errorf("the namespaces of the ToolPolicy %s: %w", name, err)
	}
	return allows, nil
}

// of returns the policies that apply to a namespace, by name. The error is why they are not known.
func (s *Store) of(ctx context.Context, namespace string) ([]*policy.Policy, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.synced == nil || !s.synced() {
		return nil, errNotSynced
	}
	var names []types.NamespacedName
	for name, p := range s.policies {
		applies, err := s.applies(ctx, name, p, namespace)
		if err != nil {
			return nil, err
		}
		if applies {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	policies := make([]*policy.Policy, len(names))
	for i, name := range names {
		policies[i] = s.policies[name].Policy
	}
	return policies, nil
}

// Judge implements engine.Policies.
func (s *Store) Judge(ctx context.Context, in engine.PolicyInput) ([]agent.Verdict, error) {
	policies, err := s.of(ctx, in.Agent.Namespace)
	if err != nil {
		return nil, err
	}
	input := policy.Input{
		Call:   policy.Call{Tool: in.Call.Tool, Arguments: in.Call.Arguments, ReadOnly: in.Call.ReadOnly, Role: in.Call.TargetRole},
		Agent:  policy.Agent{Role: in.Role, Namespace: in.Agent.Namespace, Depth: in.Depth},
		Labels: in.Labels, Now: in.Now,
		Usage: policy.Usage{Tokens: in.Usage.Tokens, CostMicros: in.Usage.CostMicros, Tasks: in.Usage.Tasks},
	}
	policies = slices.DeleteFunc(policies, func(p *policy.Policy) bool { return !p.Matches(input) })
	if len(policies) == 0 {
		return nil, nil
	}
	s.addTarget(ctx, in, &input)
	if err := s.addRoot(ctx, in, &input); err != nil {
		return nil, err
	}
	return policy.Judge(ctx, policies, input)
}

// addTarget describes the tool or role that is called. Whether a tool of a server changes
// something is the decision of the ToolServer's owner, not of the server.
func (s *Store) addTarget(ctx context.Context, in engine.PolicyInput, input *policy.Input) {
	if role := in.Call.TargetRole; role != "" {
		found, err := s.Finder.WithoutTexts(ctx, in.Agent.Namespace, role)
		input.Call.Remote = err != nil || found.Remote != nil
		input.Call.ReadOnly = !input.Call.Remote
		return
	}
	name, ok := tool.ServerOf(in.Call.Tool)
	if !ok || in.Call.Control {
		return
	}
	input.Call.Server = name
	server, err := s.Finder.ToolServer(ctx, in.Agent.Namespace, name)
	input.Call.ReadOnly = err == nil && slices.ContainsFunc(server.Spec.ReadOnlyTools, func(own string) bool {
		return mcp.ToolName(mcp.Prefix(name), own) == in.Call.Tool
	})
}

// addRoot adds the people and the workspace of the chat or standalone task at the root of the agent's tree. The name of a person who is
// not known is empty.
func (s *Store) addRoot(ctx context.Context, in engine.PolicyInput, input *policy.Input) error {
	root, err := in.Root(ctx)
	if err != nil {
		return fmt.Errorf("the requesters of the work are not known: %w", err)
	}
	users := map[string]bool{}
	for _, user := range root.Requesters.Users {
		users[user] = true
	}
	if root.Requesters.Unknown {
		users[""] = true
	}
	workspace, authors, err := s.root(ctx, in.Agent, root.Task)
	if err != nil {
		return fmt.Errorf("the root of the agent's tree is not known: %w", err)
	}
	for _, user := range authors {
		if user != "" {
			users[user] = true
		}
	}
	input.Agent.Requesters = slices.Sorted(maps.Keys(users))
	if workspace != nil {
		input.Workspace = workspaceOf(*workspace)
	}
	return nil
}

// root reads the workspace and the authors of the chat or standalone task of an agent.
func (s *Store) root(ctx context.Context, a ledger.Agent, task string) (*v1beta1.Workspace, []string, error) {
	if a.Chat != "" {
		var chat v1beta1.AgentChat
		err := s.Finder.Reader.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Chat}, &chat)
		return chat.Spec.Workspace, []string{chat.Spec.User}, err
	}
	var top v1beta1.AgentTask
	err := s.Finder.Reader.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: task}, &top)
	return top.Spec.Workspace, []string{top.Spec.User, top.Spec.FireUser}, err
}

func workspaceOf(w v1beta1.Workspace) policy.Workspace {
	switch {
	case w.Git != nil:
		return policy.Workspace{Source: "Git", Repository: w.Git.URL, Ref: w.Git.Ref, Push: w.Git.Push != nil}
	case w.PersistentVolumeClaim != nil:
		return policy.Workspace{Source: "PersistentVolumeClaim"}
	case w.EmptyDir != nil:
		return policy.Workspace{Source: "EmptyDir"}
	}
	return policy.Workspace{Source: "Directory"}
}
