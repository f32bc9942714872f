// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/endpoint"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// remote returns the endpoint of an agent with a remote role. Its calls last as long as the work, so they are not
// limited in number.
func (m *Models) remote(ctx context.Context, a ledger.Agent) (engine.Endpoint, error) {
	object, err := m.remoteRole(ctx, a)
	if err != nil {
		return engine.Endpoint{}, err
	}
	client, err := m.Clients.Remote(object, a.RoleRevision)
	return engine.Endpoint{Client: client, Model: a.Model}, err
}

// remoteRole reads the AgentRole of an agent with a remote role. The URL is the one that the agent started with:
// another server does not have its task, and must not get headers that were meant for the first one, nor the first one
// those of the other.
func (m *Models) remoteRole(ctx context.Context, a ledger.Agent) (*v1beta1.AgentRole, error) {
	namespace, name, _ := endpoint.RemoteRole(a.Provider)
	var object v1beta1.AgentRole
	err := m.Finder.Find(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("the AgentRole %s/%s was deleted", namespace, name)
	case err != nil:
		return nil, fmt.Errorf("the AgentRole %s/%s cannot be read: %w", namespace, name, err)
	}
	if m.Finder.Gated(&object) {
		read, err := m.Finder.RoleAt(ctx, a.Namespace, name, a.RoleRevision)
		if err != nil {
			return nil, err
		}
		object.Spec.Remote = read.Remote
	}
	if object.Spec.Remote == nil || object.Spec.Remote.A2A.URL != a.Model {
		return nil, fmt.Errorf("the AgentRole %s/%s has another remote agent now: start the task again", namespace, name)
	}
	if namespace != a.Namespace {
		if err := m.Finder.MayUseRole(ctx, a.Namespace, namespace, name); err != nil {
			return nil, err
		}
	}
	m.Scheduler.SetProvider(schedule.Provider{Name: a.Provider})
	return &object, nil
}
