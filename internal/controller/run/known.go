// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/engine"
)

// Known remembers under which UID the engine knows the objects of a kind: when an object is gone, only its name is left.
type Known struct {
	Engine *engine.Engine

	mu   sync.Mutex
	uids map[types.NamespacedName]types.UID
}

// Set remembers an object.
func (k *Known) Set(name types.NamespacedName, uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.uids == nil {
		k.uids = map[types.NamespacedName]types.UID{}
	}
	k.uids[name] = uid
}

// End cancels the agent of an object that is gone. Deleting is a hard cancel.
func (k *Known) End(name types.NamespacedName) error {
	k.mu.Lock()
	uid, ok := k.uids[name]
	delete(k.uids, name)
	k.mu.Unlock()
	if !ok {
		return nil
	}
	return k.Engine.End(string(uid))
}
