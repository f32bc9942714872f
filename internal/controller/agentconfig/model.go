// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/role"
)

// ModelChoice names a ModelProvider and a model. An empty field leaves the choice to the next source.
type ModelChoice struct{ Provider, Model string }

// firstModel returns the provider and model of an agent, from its own object, else its role, else its parent. The
// parent's model is used only with the parent's provider, because another provider may not have it.
func firstModel(own, role, parent ModelChoice) ModelChoice {
	chosen := ModelChoice{Provider: cmp.Or(own.Provider, role.Provider), Model: cmp.Or(own.Model, role.Model)}
	if chosen.Provider != "" {
		return chosen
	}
	return ModelChoice{Provider: cmp.Or(parent.Provider, defaultProvider), Model: cmp.Or(chosen.Model, parent.Model)}
}

// ModelOf returns the provider and model of a task's sub-agent; a remote role has none. The model is empty if it is the
// default of a provider that does not exist yet: the sub-agent waits for that provider.
func (r *Resolver) ModelOf(ctx context.Context, task *v1beta1.AgentTask, of role.Role) (ModelChoice, error) {
	if of.Remote != nil {
		return ModelChoice{}, nil
	}
	parent, err := r.parentModel(ctx, task)
	if err != nil {
		return ModelChoice{}, err
	}
	chosen := firstModel(ModelChoice{task.Spec.ModelProvider, task.Spec.Model}, ModelChoice{of.ModelProvider, of.Model}, parent)
	if chosen.Model != "" {
		return chosen, nil
	}
	provider, err := r.Finder.Provider(ctx, task.Namespace, chosen.Provider)
	var missing *resolve.Missing
	if errors.As(err, &missing) {
		return chosen, nil
	}
	if err != nil {
		return ModelChoice{}, err
	}
	chosen.Model = provider.Spec.DefaultModel
	return chosen, nil
}

// parentModel returns the current model of the agent that asked for a task. A standalone task has no parent.
func (r *Resolver) parentModel(ctx context.Context, task client.Object) (ModelChoice, error) {
	owner := metav1.GetControllerOf(task)
	if owner == nil || (owner.Kind != "AgentChat" && owner.Kind != "SubAgent") {
		return ModelChoice{}, nil
	}
	record, err := r.Engine.Lookup(ctx, string(owner.UID))
	if errors.Is(err, ledger.ErrNotFound) {
		return ModelChoice{}, nil
	}
	if err != nil {
		return ModelChoice{}, fmt.Errorf("find the model of %s %s/%s: %w", owner.Kind, task.GetNamespace(), owner.Name, err)
	}
	_, name, _ := strings.Cut(record.Provider, "/")
	return ModelChoice{Provider: name, Model: record.Model}, nil
}
