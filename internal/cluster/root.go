// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// RootUID returns the UID of the chat or standalone task at the root of an object's tree. The operator labels what it
// creates in a tree; on an object without an owner in the tree, the label was planted, or the object was orphaned.
func RootUID(object client.Object) types.UID {
	ref := metav1.GetControllerOf(object)
	if ref == nil || NewObject(ref.Kind) == nil {
		return object.GetUID() // a standalone task may be owned by an object that is not Nestor's
	}
	return cmp.Or(types.UID(object.GetLabels()[v1beta1.LabelRoot]), ref.UID)
}

// RootOf is like RootUID, but also finds the root of a new message, which names its chat or task. It reads only the
// cache: a message whose chat or task is missing there is a root of its own.
func (r Reader) RootOf(ctx context.Context, object client.Object) types.UID {
	message, ok := object.(*v1beta1.AgentMessage)
	if !ok || metav1.GetControllerOf(object) != nil {
		return RootUID(object)
	}
	var above client.Object = &v1beta1.AgentChat{}
	name := message.Spec.Chat
	if message.Spec.StandaloneTask() != "" {
		above, name = &v1beta1.AgentTask{}, message.Spec.StandaloneTask()
	}
	if err := r.Cache.Get(ctx, types.NamespacedName{Namespace: message.Namespace, Name: name}, above, client.UnsafeDisableDeepCopy); err != nil {
		return message.UID
	}
	return RootUID(above)
}

// SetRoot labels an object with the root of its owner's tree.
func SetRoot(object, owner client.Object) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1beta1.LabelRoot] = string(RootUID(owner))
	object.SetLabels(labels)
}
