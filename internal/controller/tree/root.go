// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// RootUID returns the UID of the chat or standalone task at the top of an object's tree. It reads only the cache: if an ancestor is missing
// there, the UID of that ancestor is the result.
func (r Reader) RootUID(ctx context.Context, object client.Object) types.UID {
	for range maxLineage {
		ref := metav1.GetControllerOf(object)
		if ref == nil {
			return r.unownedRoot(ctx, object)
		}
		above := newObject(ref.Kind)
		if above == nil {
			return object.GetUID() // a standalone task may be owned by an object that is not Nestor's
		}
		name := types.NamespacedName{Namespace: object.GetNamespace(), Name: ref.Name}
		if err := r.Cache.Get(ctx, name, above, client.UnsafeDisableDeepCopy); err != nil || above.GetUID() != ref.UID {
			return ref.UID
		}
		object = above
	}
	return object.GetUID()
}

// unownedRoot returns the root of an object without an owner. A new message names its chat or task.
func (r Reader) unownedRoot(ctx context.Context, object client.Object) types.UID {
	message, ok := object.(*v1alpha1.AgentMessage)
	if !ok {
		return object.GetUID()
	}
	var above client.Object = &v1alpha1.AgentChat{}
	name := message.Spec.Chat
	if message.Spec.Task != "" {
		above, name = &v1alpha1.AgentTask{}, message.Spec.Task
	}
	if err := r.Cache.Get(ctx, types.NamespacedName{Namespace: message.Namespace, Name: name}, above, client.UnsafeDisableDeepCopy); err != nil {
		return message.UID
	}
	return r.RootUID(ctx, above)
}
