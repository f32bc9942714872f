// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentrole

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// configMapUses holds the ConfigMaps that each role was read from when it was checked. A prompt in a ConfigMap may
// include others, so they are not in the role's spec.
type configMapUses struct {
	mu    sync.Mutex
	names map[types.NamespacedName][]string
}

// set records the ConfigMaps of a role; nil removes it.
func (u *configMapUses) set(role types.NamespacedName, configMaps []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(configMaps) == 0 {
		delete(u.names, role)
		return
	}
	if u.names == nil {
		u.names = map[types.NamespacedName][]string{}
	}
	u.names[role] = configMaps
}

func (u *configMapUses) roles(_ context.Context, config client.Object) []reconcile.Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	var requests []reconcile.Request
	for role, names := range u.names {
		if role.Namespace == config.GetNamespace() && slices.Contains(names, config.GetName()) {
			requests = append(requests, reconcile.Request{NamespacedName: role})
		}
	}
	return requests
}
