// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/shard"
)

// movingRetryDelay is the delay before a request that concerns a shard that is being taken over or handed over is tried
// again.
const movingRetryDelay = time.Second

// Gate decides which objects this operator acts on.
//
// A request for another object is dropped: the operator that owns its shard has the same request, and when a shard is
// taken over, all of its objects are enqueued. An object that no longer exists has no shard. Its request goes to every
// operator, and those that have no agent of the object do nothing. An operator that is taking over the shard of such an
// agent keeps the request: the object may have been in its cache when the agent was taken over.
type Gate struct {
	Engine  *engine.Router
	Objects Reader
}

// Earlier ends the agents of objects that were deleted and created again with the same name.
type Earlier interface {
	// EndEarlier ends the agent of an earlier object with the name of the object with this UID, if this operator has it.
	EndEarlier(ctx context.Context, name types.NamespacedName, uid types.UID) error
}

// Agents wraps the reconciler of objects that have agents. An object that was deleted and created again may belong to
// another operator than the one before it: the owner of the shard of the old object gets only a request for the new
// one.
func (g Gate) Agents(kind client.Object, earlier Earlier, next reconcile.Reconciler) reconcile.Reconciler {
	return g.wrap(kind, g.treeHash, earlier.EndEarlier, next)
}

// Tree wraps the reconciler of other objects that belong to trees.
func (g Gate) Tree(kind client.Object, next reconcile.Reconciler) reconcile.Reconciler {
	return g.wrap(kind, g.treeHash, ignore, next)
}

func ignore(context.Context, types.NamespacedName, types.UID) error { return nil }

// Object wraps the reconciler of objects that belong to no tree; they are divided by their own UIDs.
func (g Gate) Object(kind client.Object, next reconcile.Reconciler) reconcile.Reconciler {
	return g.wrap(kind, func(_ context.Context, object client.Object) int { return shard.Hash(string(object.GetUID())) }, ignore, next)
}

// wrap lets a reconciler act only on the objects of this operator; others is called with the rest.
func (g Gate) wrap(kind client.Object, hash func(context.Context, client.Object) int,
	others func(context.Context, types.NamespacedName, types.UID) error, next reconcile.Reconciler) reconcile.Reconciler {
	fresh := reflect.TypeOf(kind).Elem()
	return reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		object, ok := reflect.New(fresh).Interface().(client.Object)
		if !ok {
			return next.Reconcile(ctx, request)
		}
		exists := g.read(ctx, request.NamespacedName, object)
		switch {
		case !exists && !g.Engine.Active():
			return ctrl.Result{}, nil
		case exists:
			leave, ok := g.Engine.Enter(hash(ctx, object))
			if !ok {
				return result(ctrl.Result{}, others(ctx, request.NamespacedName, object.GetUID()))
			}
			defer leave()
		}
		return result(next.Reconcile(ctx, request))
	})
}

// result returns the result of a reconcile that may have lost its shard.
func result(result ctrl.Result, err error) (ctrl.Result, error) {
	switch {
	case errors.Is(err, engine.ErrShardMoving):
		return ctrl.Result{RequeueAfter: movingRetryDelay}, nil
	case errors.Is(err, engine.ErrNotOwned), errors.Is(err, engine.ErrSuperseded):
		return ctrl.Result{}, nil // the new owner does it
	}
	return result, err
}

// read reads an object from the cache, without a copy.
func (g Gate) read(ctx context.Context, name types.NamespacedName, object client.Object) bool {
	return g.Objects.Cache.Get(ctx, name, object, client.UnsafeDisableDeepCopy) == nil
}

// treeHash returns the hash of an object's tree. The engine has the tree of a live agent, even if an ancestor of its
// object was deleted.
func (g Gate) treeHash(ctx context.Context, object client.Object) int {
	if a, ok := g.Engine.FindLive(string(object.GetUID())); ok {
		return max(a.ShardHash, 0)
	}
	return shard.Hash(string(g.Objects.RootOf(ctx, object)))
}

// TreeShard returns the shard of an object's tree.
func (g Gate) TreeShard(ctx context.Context, object client.Object) int {
	return g.Engine.ShardOf(g.treeHash(ctx, object))
}

// ObjectShard returns the shard of an object that belongs to no tree.
func (g Gate) ObjectShard(object client.Object) int {
	return g.Engine.ShardOf(shard.Hash(string(object.GetUID())))
}

// EnterObject begins a reconcile of an object that belongs to no tree. It reports false if another operator does it.
func (g Gate) EnterObject(object client.Object) (leave func(), ok bool) {
	return g.Engine.Enter(shard.Hash(string(object.GetUID())))
}

// Namespace begins a reconcile of what belongs to a namespace as a whole. It reports false if another operator does it.
func (g Gate) Namespace(name string) (leave func(), ok bool) { return g.Engine.Enter(shard.Hash(name)) }
