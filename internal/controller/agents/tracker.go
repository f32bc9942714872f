// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nestor-dev/nestor/internal/engine"
)

// Tracker maps the names of the objects of a kind to their engine UIDs: a reconcile of a deleted object has only the
// name.
type Tracker struct {
	Engine *engine.Router
	// Find reads an object from the cache, or from the API server if it is not in the cache; see Runner.Find.
	Find func(context.Context, types.NamespacedName, client.Object) error
	// Kind is the name of the kind in the ledger.
	Kind string

	mu   sync.Mutex
	uids map[types.NamespacedName]types.UID
}

// Fetch reads an object that has an agent. It reports false if the object is deleted or being deleted, and then ends
// the agent. The cache of an operator that has just started may not have every object of the agents it takes over, so
// Fetch confirms a deletion with the API server.
func (k *Tracker) Fetch(ctx context.Context, name types.NamespacedName, object client.Object) (bool, error) {
	err := k.Find(ctx, name, object)
	if apierrors.IsNotFound(err) {
		return false, k.endDeleted(ctx, name, object)
	}
	if err != nil {
		return false, fmt.Errorf("get %s: %w", name, err)
	}
	if err := k.set(ctx, name, object.GetUID()); err != nil {
		return false, err
	}
	if !object.GetDeletionTimestamp().IsZero() {
		log.FromContext(ctx).V(1).Info("Ends the agent of an object that is being deleted", "uid", object.GetUID())
		return false, k.Engine.End(ctx, string(object.GetUID()))
	}
	return true, nil
}

// Add stores the UID of an object whose agent was taken over, unless the tracker has an object with this name.
func (k *Tracker) Add(name types.NamespacedName, uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.uids[name]; !ok {
		k.setLocked(name, uid)
	}
}

func (k *Tracker) setLocked(name types.NamespacedName, uid types.UID) {
	if k.uids == nil {
		k.uids = map[types.NamespacedName]types.UID{}
	}
	k.uids[name] = uid
}

// set stores the UID of an object.
func (k *Tracker) set(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	if err := k.EndEarlier(ctx, name, uid); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.setLocked(name, uid)
	return nil
}

// EndEarlier cancels the agent of an earlier object with the same name: that object has been deleted in the meantime.
// If another operator owns the shard of the agent, it does that.
func (k *Tracker) EndEarlier(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	k.mu.Lock()
	before, ok := k.uids[name]
	k.mu.Unlock()
	if !ok || before == uid {
		return nil
	}
	if err := k.Engine.End(ctx, string(before)); err != nil && !errors.Is(err, engine.ErrNotOwned) {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.uids[name] == before {
		delete(k.uids, name)
	}
	return nil
}

// endDeleted cancels the agent of a deleted object. An object that this operator has never seen may have been deleted
// while no operator was running; the ledger shows whether it had an agent. endDeleted then reads the object again,
// because a new object with the same name may have started an agent in the meantime.
func (k *Tracker) endDeleted(ctx context.Context, name types.NamespacedName, object client.Object) error {
	k.mu.Lock()
	uid, ok := k.uids[name]
	delete(k.uids, name)
	k.mu.Unlock()
	log.FromContext(ctx).V(1).Info("Ends the agent of a deleted object", "uid", uid)
	if ok {
		return k.Engine.End(ctx, string(uid))
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
		if err := k.Engine.End(ctx, a.UID); err != nil {
			return err
		}
	}
	return nil
}
