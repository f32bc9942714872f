// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/engine"
)

// Tracker remembers under which UID the engine knows the objects of a kind: when an object is gone, only its name is left.
type Tracker struct {
	Engine *engine.Engine
	// Find reads an object, and asks the API server for what the cache does not know; see Runner.Find.
	Find func(context.Context, types.NamespacedName, client.Object) error
	// Kind is how the ledger calls the kind.
	Kind string

	mu   sync.Mutex
	uids map[types.NamespacedName]types.UID
}

// Fetch reads an object that has an agent. It reports false when the object is gone, or going, and ends the agent then. An operator
// that has just started takes over agents whose objects its cache may not have heard of yet, so the API server is asked before one
// is taken for gone.
func (k *Tracker) Fetch(ctx context.Context, name types.NamespacedName, object client.Object) (bool, error) {
	err := k.Find(ctx, name, object)
	if apierrors.IsNotFound(err) {
		return false, k.endDeleted(ctx, name, object)
	}
	if err != nil {
		return false, fmt.Errorf("get %s: %w", name, err)
	}
	if err := k.set(name, object.GetUID()); err != nil {
		return false, err
	}
	if !object.GetDeletionTimestamp().IsZero() {
		return false, k.Engine.End(string(object.GetUID()))
	}
	return true, nil
}

// set remembers an object. One of the same name that was there before has been deleted meanwhile.
func (k *Tracker) set(name types.NamespacedName, uid types.UID) error {
	k.mu.Lock()
	if k.uids == nil {
		k.uids = map[types.NamespacedName]types.UID{}
	}
	before, ok := k.uids[name]
	k.uids[name] = uid
	k.mu.Unlock()
	if !ok || before == uid {
		return nil
	}
	return k.Engine.End(string(before))
}

// endDeleted cancels the agent of an object that is gone. Deleting is a hard cancel. An object that was never seen may have gone while no
// operator was at work: the ledger knows whether it had an agent. The object is looked for once more after that, since another one
// may have got its name and an agent meanwhile.
func (k *Tracker) endDeleted(ctx context.Context, name types.NamespacedName, object client.Object) error {
	k.mu.Lock()
	uid, ok := k.uids[name]
	delete(k.uids, name)
	k.mu.Unlock()
	if ok {
		return k.Engine.End(string(uid))
	}
	live, err := k.Engine.LiveNamed(ctx, k.Kind, name.Namespace, name.Name)
	if err != nil || len(live) == 0 {
		return err
	}
	if err := client.IgnoreNotFound(k.Find(ctx, name, object)); err != nil {
		return fmt.Errorf("get %s: %w", name, err)
	}
	for _, a := range live {
		if a.UID == string(object.GetUID()) {
			continue
		}
		if err := k.Engine.End(a.UID); err != nil {
			return err
		}
	}
	return nil
}
