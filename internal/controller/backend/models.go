// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package backend implements what the engine needs from the cluster: models, tools, quotas and slot groups.
package backend

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/endpoint"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// Models finds the ModelProviders of agents and updates the scheduler with their limits.
type Models struct {
	Finder    resolve.Finder
	Scheduler *schedule.Scheduler
	Clients   *endpoint.Clients
}

// Route implements engine.Models. A provider is identified by namespace/name. It is read before each call, so that an
// agent cannot continue to use a provider that was deleted or is no longer shared with its namespace.
func (m *Models) Route(ctx context.Context, a ledger.Agent) (string, error) {
	if _, _, remote := endpoint.RemoteRole(a.Provider); remote {
		_, err := m.remoteRole(ctx, a)
		return a.Provider, err
	}
	object, err := m.permitted(ctx, a)
	if err != nil {
		return a.Provider, err
	}
	for _, name := range fallbacks(object) {
		_, _ = m.provider(ctx, name, m.cached) // the scheduler skips an absent fallback; the provider's condition names it
	}
	return a.Provider, nil
}

// fallbacks returns the fallbacks of a provider, which are in its own namespace.
func fallbacks(object *v1beta1.ModelProvider) []string {
	names := make([]string, 0, len(object.Spec.Fallbacks))
	for _, name := range object.Spec.Fallbacks {
		names = append(names, object.Namespace+"/"+name)
	}
	return names
}

func (m *Models) Endpoint(ctx context.Context, a ledger.Agent, name string) (engine.Endpoint, error) {
	if _, _, remote := endpoint.RemoteRole(a.Provider); remote {
		return m.remote(ctx, a)
	}
	object, err := m.permitted(ctx, a)
	if err == nil && name != a.Provider {
		object, err = m.provider(ctx, name, m.cached)
	}
	if err != nil {
		return engine.Endpoint{}, err
	}
	connected, err := m.Clients.Get(ctx, object)
	if err != nil {
		return engine.Endpoint{}, err
	}
	chosen := engine.Endpoint{Client: connected, Model: a.Model, Prices: Prices(object)}
	if name != a.Provider && object.Spec.DefaultModel != "" {
		chosen.Model = object.Spec.DefaultModel // a fallback need not have the model of the provider that it replaces
	}
	return chosen, nil
}

// permitted returns the provider of an agent if the agent's namespace may use it. A fallback needs no permission of its
// own because the provider names it.
func (m *Models) permitted(ctx context.Context, a ledger.Agent) (*v1beta1.ModelProvider, error) {
	object, err := m.provider(ctx, a.Provider, m.Finder.Find)
	if err != nil {
		return nil, err
	}
	ok, err := m.Finder.MayUse(ctx, a.Namespace, object)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("the ModelProvider %s cannot be used in the namespace %s: its allowedNamespaces do not include it", a.Provider, a.Namespace)
	}
	return object, nil
}

type read func(context.Context, types.NamespacedName, client.Object) error

// cached reads from the cache only: a fallback that does not exist must not cost a request for each call.
func (m *Models) cached(ctx context.Context, name types.NamespacedName, object client.Object) error {
	return m.Finder.Reader.Get(ctx, name, object)
}

// provider reads a provider and passes its limits to the scheduler.
func (m *Models) provider(ctx context.Context, name string, get read) (*v1beta1.ModelProvider, error) {
	namespace, short, _ := strings.Cut(name, "/")
	var object v1beta1.ModelProvider
	err := get(ctx, types.NamespacedName{Namespace: namespace, Name: short}, &object)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("the ModelProvider %s was deleted", name)
	}
	if err != nil {
		return nil, fmt.Errorf("the ModelProvider %s cannot be read: %w", name, err)
	}
	m.Scheduler.SetProvider(schedule.Provider{
		Name: name, Concurrent: int(object.Spec.MaxConcurrentRequests), Fallback: fallbacks(&object),
		RequestsPerMinute: int64(ptr.Deref(object.Spec.MaxRequestsPerMinute, 0)),
		TokensPerMinute:   ptr.Deref(object.Spec.MaxTokensPerMinute, 0),
	})
	return &object, nil
}

func Prices(object *v1beta1.ModelProvider) model.Prices {
	prices := make(model.Prices, 0, len(object.Spec.Models))
	for _, info := range object.Spec.Models {
		prices = append(prices, model.Price{
			Name: info.Name, Currency: object.Spec.Currency, ContextTokens: info.ContextTokens, InputMicrosPerMillion: info.InputMicrosPerMillion,
			CachedInputMicrosPerMillion: info.CachedInputMicrosPerMillion, CacheWriteMicrosPerMillion: info.CacheWriteMicrosPerMillion, OutputMicrosPerMillion: info.OutputMicrosPerMillion,
			TextOnly:    !ptr.Deref(info.SupportsImages, true),
			NoReasoning: !ptr.Deref(info.SupportsReasoning, true),
		})
	}
	return prices
}
