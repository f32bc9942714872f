// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolpolicy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"github.com/nestor-dev/nestor/internal/evaluation"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/policy"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// maxPolicies bounds the policies of a namespace that are evaluated. The programs of one may take a megabyte.
const maxPolicies = 64

// Store has the policies of the cluster, compiled once for each generation. It implements engine.Policies and answers
// from memory. Policies are compiled in the background and evaluated in slots, a few of each namespace at a time.
type Store struct {
	// finder finds ToolServers, roles and namespaces in the cache.
	finder   resolve.Finder
	slots    *evaluation.Slots
	programs *evaluation.Programs[*v1beta1.ToolPolicy, *policy.Policy]
	// wake reconciles a policy whose state in the store has changed.
	wake func(types.NamespacedName)

	mu sync.RWMutex
	// policies are those of each namespace, the oldest first. They are the cache's objects, and a list never changes.
	policies map[string][]*v1beta1.ToolPolicy
	synced   func() bool
}

var (
	errNotSynced = errors.New("the operator has not read the ToolPolicies yet")
	errTooSlow   = errors.New("the ToolPolicies that match the call could not be evaluated in time, which is tried again")
)

// NewStore returns a store. The finder reads from the cache only.
func NewStore(finder resolve.Finder, wake func(types.NamespacedName)) *Store {
	slots := evaluation.NewSlots(expr.Timeout)
	return &Store{
		finder: finder, slots: slots, programs: evaluation.NewPrograms(slots, policy.Compile, wake), wake: wake,
		policies: map[string][]*v1beta1.ToolPolicy{},
	}
}

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
	old := s.in(p.Namespace)
	if i := slices.IndexFunc(old, named(p)); i >= 0 && sameSpec(old[i], p) {
		return
	}
	list := slices.DeleteFunc(slices.Clone(old), named(p))
	at, _ := slices.BinarySearchFunc(list, p, byAge)
	list = slices.Insert(list, at, p)
	s.replace(p.Namespace, list)
	if at < maxPolicies {
		s.programs.Later(p)
		return
	}
	name := client.ObjectKeyFromObject(p)
	s.programs.Remove(name)
	s.wake(name)
}

func (s *Store) remove(object any) {
	if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	p, ok := object.(*v1beta1.ToolPolicy)
	if !ok {
		return
	}
	list := slices.DeleteFunc(slices.Clone(s.in(p.Namespace)), named(p))
	s.replace(p.Namespace, list)
	s.programs.Remove(client.ObjectKeyFromObject(p))
}

// in returns the policies of a namespace, the oldest first.
func (s *Store) in(namespace string) []*v1beta1.ToolPolicy {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.policies[namespace]
}

// replace sets the policies of a namespace. One more or less changes whether those at the limit are evaluated.
func (s *Store) replace(namespace string, list []*v1beta1.ToolPolicy) {
	s.mu.Lock()
	s.policies[namespace] = list
	if len(list) == 0 {
		delete(s.policies, namespace)
	}
	s.mu.Unlock()
	if len(list) >= maxPolicies {
		s.programs.Later(list[maxPolicies-1])
	}
	if len(list) > maxPolicies {
		name := client.ObjectKeyFromObject(list[maxPolicies])
		s.programs.Remove(name)
		s.wake(name)
	}
}

func (s *Store) isSynced() bool {
	s.mu.RLock()
	synced := s.synced
	s.mu.RUnlock()
	return synced != nil && synced()
}

func named(p *v1beta1.ToolPolicy) func(*v1beta1.ToolPolicy) bool {
	return func(other *v1beta1.ToolPolicy) bool { return other.Name == p.Name }
}

func sameSpec(a, b *v1beta1.ToolPolicy) bool { return a.UID == b.UID && a.Generation == b.Generation }

func byAge(a, b *v1beta1.ToolPolicy) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// Problem returns why calls that a policy matches wait: it does not compile, or it is one too many. It reports false if
// this is not known yet; the policy is reconciled when it is.
func (s *Store) Problem(p *v1beta1.ToolPolicy) (problem error, known bool) {
	list := s.in(p.Namespace)
	i := slices.IndexFunc(list, named(p))
	if i < 0 || !sameSpec(list[i], p) {
		return nil, false
	}
	if i >= maxPolicies {
		return tooMany(p.Namespace), true
	}
	_, known, problem = s.programs.Get(p)
	return problem, known
}

// tooMany is the problem of the policies of a namespace that are not evaluated.
type tooMany string

func (namespace tooMany) Error() string {
	return fmt.Sprintf("only the %d oldest ToolPolicies of a namespace are evaluated, and %s has more", maxPolicies, string(namespace))
}

func (s *Store) Apply(namespace string) bool {
	if !s.isSynced() || len(s.in(namespace)) > 0 {
		return true
	}
	return slices.ContainsFunc(s.in(s.finder.OperatorNamespace), func(p *v1beta1.ToolPolicy) bool {
		applies, err := s.applies(context.Background(), p, namespace)
		return applies || err != nil
	})
}

// applies reports whether a policy is about the agents of a namespace.
func (s *Store) applies(ctx context.Context, p *v1beta1.ToolPolicy, namespace string) (bool, error) {
	if p.Namespace == namespace {
		return true, nil
	}
	if namespaces := p.Spec.Namespaces; namespaces != nil {
		if _, err := metav1.LabelSelectorAsSelector(namespaces.Selector); err != nil {
			return true, nil //nolint:nilerr // it may select any namespace, and has no verdicts until it is corrected
		}
	}
	allows, err := s.finder.Allows(ctx, p.Spec.Namespaces, namespace)
	if err != nil {
		return false, fmt.Errorf("the namespaces of the ToolPolicy %s: %w", client.ObjectKeyFromObject(p), err)
	}
	return allows, nil
}

// matching returns the policies that match a call, by name. The error is why they are not known.
func (s *Store) matching(ctx context.Context, in policy.Input) ([]*policy.Policy, error) {
	if !s.isSynced() {
		return nil, errNotSynced
	}
	var policies []*policy.Policy
	for _, namespace := range slices.Compact([]string{in.Agent.Namespace, s.finder.OperatorNamespace}) {
		for i, object := range s.in(namespace) {
			p := s.state(object, i)
			if !p.Matches(in) {
				continue
			}
			applies, err := s.applies(ctx, object, in.Agent.Namespace)
			if err != nil {
				return nil, err
			}
			if applies {
				policies = append(policies, p)
			}
		}
	}
	slices.SortFunc(policies, func(a, b *policy.Policy) int { return strings.Compare(a.Name(), b.Name()) })
	return policies, nil
}

// state returns the i-th oldest policy of a namespace, compiled, or waiting if it cannot be evaluated.
func (s *Store) state(object *v1beta1.ToolPolicy, i int) *policy.Policy {
	if i >= maxPolicies {
		return policy.Waiting(object, fmt.Errorf("the ToolPolicy %s is not evaluated: %w", client.ObjectKeyFromObject(object), tooMany(object.Namespace)))
	}
	if p, known, _ := s.programs.Get(object); known {
		return p
	}
	return policy.Waiting(object, policy.ErrNotCompiled)
}

func (s *Store) Judge(ctx context.Context, in engine.PolicyInput) (verdicts []agent.Verdict, writes bool, err error) {
	input := policy.Input{
		Call:   policy.Call{Tool: in.Call.Tool, Arguments: in.Call.Arguments, ReadOnly: in.Call.ReadOnly, Role: in.Call.TargetRole},
		Agent:  policy.Agent{Role: in.Role, Namespace: in.Agent.Namespace, Depth: in.Depth},
		Labels: in.Labels, Now: in.Now,
		Usage: policy.Usage{Tokens: in.Usage.Tokens, CostMicros: in.Usage.CostMicros, Tasks: in.Usage.Tasks, Writes: in.Usage.Writes},
	}
	s.addTarget(ctx, in, &input)
	writes = !input.Call.ReadOnly
	policies, err := s.matching(ctx, input)
	if err != nil || len(policies) == 0 {
		return nil, writes, err
	}
	if err := policy.Ready(policies, input); err != nil { // known without a slot
		return nil, writes, err
	}
	if err := s.addRoot(ctx, in, &input); err != nil {
		return nil, writes, err
	}
	err = s.slots.Run(ctx, in.Agent.Namespace, func(ctx context.Context) (err error) {
		verdicts, err = policy.Judge(ctx, policies, input)
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, writes, errTooSlow // without a verdict, the call waits
	}
	return verdicts, writes, err
}

// addTarget describes the tool or role that is called. Whether a tool of a server changes
// something is the decision of the ToolServer's owner, not of the server.
func (s *Store) addTarget(ctx context.Context, in engine.PolicyInput, input *policy.Input) {
	if role := in.Call.TargetRole; role != "" {
		found, err := s.finder.WithoutTextsAt(ctx, in.Agent.Namespace, role, in.Revisions[role])
		input.Call.Remote = err != nil || found.Remote != nil
		input.Call.ReadOnly = !input.Call.Remote
		return
	}
	name, ok := tool.ServerOf(in.Call.Tool)
	if !ok || in.Call.Control {
		return
	}
	input.Call.Server = name
	server, err := s.finder.ToolServer(ctx, in.Agent.Namespace, name)
	input.Call.ReadOnly = err == nil && slices.ContainsFunc(server.Spec.ReadOnlyTools, func(own string) bool {
		return tool.ServerToolName(tool.ServerPrefix(name), own) == in.Call.Tool
	})
}

// addRoot adds the people and the workspace of the chat or standalone task at the root of the agent's tree. The name of
// a person who is not known is empty.
func (s *Store) addRoot(ctx context.Context, in engine.PolicyInput, input *policy.Input) error {
	root, err := in.Root(ctx)
	if err != nil {
		return fmt.Errorf("the requesters of the work are not known: %w", err)
	}
	workspace, authors, err := s.root(ctx, in.Agent, root.Task)
	if err != nil {
		return fmt.Errorf("the root of the agent's tree is not known: %w", err)
	}
	input.Agent.Requesters = policy.RequestersOf(root.Requesters.Users, root.Requesters.Unknown, authors)
	if workspace != nil {
		input.Workspace = policy.WorkspaceOf(*workspace)
	}
	return nil
}

// root reads the workspace and the authors of the chat or standalone task of an agent.
func (s *Store) root(ctx context.Context, a ledger.Agent, task string) (*v1beta1.Workspace, []string, error) {
	if a.Chat != "" {
		var chat v1beta1.AgentChat
		err := s.finder.Reader.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Chat}, &chat)
		return chat.Spec.Workspace, []string{chat.Spec.User}, err
	}
	var top v1beta1.AgentTask
	err := s.finder.Reader.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: task}, &top)
	return top.Spec.Workspace, []string{top.Spec.User, top.Spec.FireUser}, err
}
