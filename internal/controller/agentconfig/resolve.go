// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentconfig computes the configuration of agents from the objects that describe them: role, model, tools and
// limits.
package agentconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/backend"
	"github.com/nestor-dev/nestor/internal/controller/endpoint"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/engine/admission"
	"github.com/nestor-dev/nestor/internal/quota"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
)

// defaultProvider is the provider of agents that name none.
const defaultProvider = "default"

// Resolver resolves the configuration of agents.
type Resolver struct {
	Engine *engine.Router
	Finder resolve.Finder
	Tools  *backend.Tools
	// Clients are the clients of model providers.
	Clients *endpoint.Clients
	Quotas  admission.Quotas
}

// Subject describes an agent to be configured.
type Subject struct {
	Kind agent.Kind
	// Object is the agent's object, from which its workspace is found.
	Object    client.Object
	Namespace string
	Name      string
	Role      string
	// Revisions are the revisions of gated roles that the tree has pinned.
	Revisions map[string]string
	// Provider and Model are those that the object itself names; they override the role's and the defaults.
	Provider, Model string
	Depth, MaxDepth int
	// ChatLimits, AgentLimits and TaskLimits come from the spec of an orchestrator's chat, of a sub-agent or of a tool
	// run's task; nil sets none.
	ChatLimits  *v1beta1.ChatLimits
	AgentLimits *v1beta1.AgentLimits
	TaskLimits  *v1beta1.TaskLimits
	Tool        string
	// OutputSchema is the one of the object itself, which replaces the role's.
	OutputSchema *runtime.RawExtension
	Generation   int64
}

// Resolved is an agent's configuration, with the provider and model of its calls.
type Resolved struct {
	Config agent.Config
	// Provider is the namespace and name of the ModelProvider; Model is the name of the model.
	Provider, Model string
	Role            role.Role
	NamespaceUID    string
}

// Resolve resolves all references of an agent. A missing one is a *resolve.Missing.
func (r *Resolver) Resolve(ctx context.Context, s Subject) (Resolved, error) {
	uid, err := r.checkLedgerQuota(ctx, s)
	if err != nil {
		return Resolved{}, err
	}
	definition, err := r.Finder.RoleAt(ctx, s.Namespace, s.Role, s.Revisions[s.Role])
	if err != nil {
		return Resolved{}, err
	}
	if s.Revisions, err = r.Finder.PinRevisions(ctx, s.Namespace, definition, s.Revisions); err != nil {
		return Resolved{}, err
	}
	out := Resolved{Role: definition, NamespaceUID: uid}
	out.Config = agent.Config{
		Kind: s.Kind, Name: s.Name, Depth: s.Depth, MaxDepth: s.MaxDepth, Role: roleOf(definition, s.Namespace), Generation: s.Generation,
		Limits: s.limits(definition), Revisions: s.Revisions,
	}
	if err := s.checkRole(definition); err != nil {
		return Resolved{}, err
	}
	if s.Kind == agent.ToolRun {
		set, err := r.Tools.ForTool(ctx, s.Object, definition, s.Tool)
		out.Config.Tools = toolsOf(set)
		return out, err
	}
	if s.Kind == agent.SubAgent {
		if out.Config.OutputSchema, err = outputSchema(s.Role, definition, s.OutputSchema); err != nil {
			return Resolved{}, err
		}
	}
	if definition.Isolated {
		out.Config.Isolated = true
		if err := checkIsolated(s, definition); err != nil {
			return Resolved{}, err
		}
	}
	if s.Kind == agent.SubAgent && definition.Review != nil {
		if out.Config.Review, err = r.review(ctx, s, definition); err != nil {
			return Resolved{}, err
		}
	}
	if definition.Remote != nil {
		return out, r.resolveRemote(ctx, s, &out)
	}
	if !definition.Isolated {
		set, err := r.Tools.ForObject(ctx, s.Object, definition)
		if err != nil {
			return Resolved{}, err
		}
		out.Config.Tools = toolsOf(set)
	}
	if out.Config.Delegates, out.Config.MissingDelegates, err = r.delegates(ctx, s, definition); err != nil {
		return Resolved{}, err
	}
	for _, skill := range definition.SkillTexts {
		out.Config.Skills = append(out.Config.Skills, agent.Skill{Name: skill.Name, Description: skill.Description,
			Content: agent.Content{Trusted: skill.Trusted, Labels: v1beta1.ContentNames(skill.Labels)}})
	}
	if err := r.resolveModel(ctx, s, &out); err != nil {
		return out, err
	}
	return out, out.needsPrice()
}

// checkRole returns an error if a role cannot lead a chat: some of its fields are about the result of a task, and a
// chat has none.
func (s Subject) checkRole(definition role.Role) error {
	if s.Kind != agent.Orchestrator {
		return nil
	}
	problem := ""
	switch {
	case definition.Remote != nil:
		problem = "is that of a remote agent, which cannot lead a chat"
	case definition.OutputSchema != nil:
		problem = "has outputSchema, which is for the results of tasks, and a chat has none"
	case definition.Review != nil:
		problem = "has review, which is for the results of tasks, and a chat has none"
	default:
		return nil
	}
	return &resolve.Missing{Reason: v1beta1.ReasonInvalidSpec,
		Message: fmt.Sprintf("The role %s %s: name another role, which may delegate to it.", s.Role, problem)}
}

func (s Subject) limits(definition role.Role) agent.Limits {
	limits := ofRole(definition)
	switch {
	case s.ChatLimits != nil:
		return ofChat(limits, *s.ChatLimits)
	case s.AgentLimits != nil:
		return ofSubAgent(limits, *s.AgentLimits)
	case s.TaskLimits != nil:
		return ofToolRun(limits, *s.TaskLimits)
	}
	return limits
}

// checkLedgerQuota returns the UID of an agent's namespace. If the namespace has used up its ledger quota, the error is
// one of the ledger.
func (r *Resolver) checkLedgerQuota(ctx context.Context, s Subject) (string, error) {
	uid, err := r.Finder.NamespaceUID(ctx, s.Namespace, s.Object.GetCreationTimestamp().Time)
	if err != nil {
		return "", err
	}
	return uid, r.Engine.LedgerFull(s.Namespace, uid)
}

// resolveModel finds the provider and the model, with their properties.
func (r *Resolver) resolveModel(ctx context.Context, s Subject, out *Resolved) error {
	name := cmp.Or(s.Provider, out.Role.ModelProvider, defaultProvider)
	provider, err := r.Finder.Provider(ctx, s.Namespace, name)
	if err != nil {
		return err
	}
	if err := r.Clients.Check(ctx, provider); err != nil {
		return err
	}
	out.Provider = provider.Namespace + "/" + provider.Name
	out.Model = cmp.Or(s.Model, out.Role.Model, provider.Spec.DefaultModel)
	if out.Model == "" {
		return &resolve.Missing{Reason: v1beta1.ReasonModelNotSet,
			Message: fmt.Sprintf("Name a model: in the object, in the role %s, or as defaultModel of the ModelProvider %s.", s.Role, name)}
	}
	out.Config.Provider, out.Config.Model = out.Provider, out.Model
	prices := backend.Prices(provider)
	out.Config.Limits.ContextTokens = prices.ContextTokens(out.Model)
	out.Config.Limits.MaxRetries = retries(provider.Spec)
	out.Config.Price = r.mostPrice(ctx, provider, out.Model)
	return r.quotaPrice(ctx, s.Namespace, out)
}

// quotaPrice returns an error if a quota limits the cost of the namespace and the model has no price.
func (r *Resolver) quotaPrice(ctx context.Context, namespace string, out *Resolved) error {
	if out.Config.Price != nil {
		return nil
	}
	quotas, err := r.Quotas.Quotas(ctx, namespace)
	if err != nil {
		return err
	}
	if q, ok := quota.NeedsPrice(quotas); ok {
		return &resolve.Missing{Reason: v1beta1.ReasonPriceUnknown, Message: quota.PriceUnknown(q, out.Model, out.Provider)}
	}
	return nil
}

// retries returns the number of retries of a model call. Every fallback gets one attempt, even if the provider allows
// fewer retries.
func retries(spec v1beta1.ModelProviderSpec) int {
	if spec.MaxRetries == nil {
		return len(spec.Fallbacks)
	}
	return max(int(*spec.MaxRetries), len(spec.Fallbacks))
}

// needsPrice returns an error if the cost of an agent is limited and its model has no price.
func (o Resolved) needsPrice() error {
	if o.Config.Limits.MaxCostMicros == 0 || o.Config.Price != nil {
		return nil
	}
	return &resolve.Missing{Reason: v1beta1.ReasonPriceUnknown,
		Message: fmt.Sprintf("maxCostMicros is set: add the prices of %s to models of the ModelProvider %s.", o.Model, o.Provider)}
}

// delegates returns the existing roles that a role may delegate to, and the names of the missing ones.
func (r *Resolver) delegates(ctx context.Context, s Subject, from role.Role) (delegates []agent.Delegate, missing []string, err error) {
	for _, name := range from.Delegates() {
		definition, err := r.Finder.RoleAt(ctx, s.Namespace, name, s.Revisions[name])
		var notFound *resolve.Missing
		if errors.As(err, &notFound) {
			missing = append(missing, name)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		d := agent.Delegate{Name: name, DisplayName: definition.DisplayName, Description: definition.Description, When: definition.DelegateWhen, Isolated: definition.Isolated}
		if definition.AsTool != nil {
			d.AsTool = &agent.AsTool{Name: definition.AsTool.Name, InputSchema: definition.InputSchema()}
		}
		delegates = append(delegates, d)
	}
	return delegates, missing, nil
}

func roleOf(r role.Role, namespace string) agent.Role {
	out := agent.Role{Name: r.Name, DisplayName: r.DisplayName, Prompt: r.SystemPrompt, Revision: r.Revision, ReasoningEffort: string(r.ReasoningEffort)}
	if r.Namespace != namespace {
		out.SharedBy = r.Namespace
	}
	if value, ok := r.Temperature.Float(); ok { // the API accepts nothing else
		out.Temperature = &value
	}
	if r.Tools != nil {
		out.Allow, out.Deny = r.Tools.Allow, r.Tools.Deny
		if out.Allow == nil {
			out.Allow = builtin.Names()
		}
	}
	if r.Approval != nil {
		out.Approval, out.ApprovalTools = agent.ApprovalMode(r.Approval.Mode), r.Approval.Tools
		out.DenyRequesters, out.AllowServiceAccounts = r.Approval.DenyRequesters, r.Approval.AllowServiceAccounts
		out.ApprovalTimeout, out.FailOnTimeout = agent.Millis(r.Approval.TimeoutSeconds)*1000, r.Approval.OnTimeout == v1beta1.TimeoutFail
		out.EditableApprovals = r.Approval.Editable
	}
	return out
}

func toolsOf(set tool.Set) []agent.Tool {
	builtIn := builtin.Names()
	var tools []agent.Tool
	for _, t := range set.Tools() {
		spec := t.Spec()
		tools = append(tools, agent.Tool{Name: spec.Name, Description: spec.Description, Parameters: spec.Parameters,
			BuiltIn: slices.Contains(builtIn, spec.Name), Granted: spec.Name == builtin.ReadSkill, ReadOnly: spec.ReadOnly, Idempotent: spec.Idempotent,
			Approval: agent.ToolApproval(spec.Approval)})
		if spec.Added {
			added := &tools[len(tools)-1]
			added.Added, added.Content = true, agent.Content(spec.Content)
		}
	}
	return tools
}
