// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// maxLineage is more than the possible nesting of objects; a longer chain of owners is not a tree.
const maxLineage = 16

// Lineage contains the ancestors of an object in a tree, found by the UIDs of owner references.
type Lineage struct {
	// Gone reports that an ancestor was deleted or is being deleted: the object waits for the garbage collector, or is an orphan.
	Gone bool
	// Parent is the chat or sub-agent that asked for the object; nil for a standalone task and its sub-agent.
	Parent client.Object
	// Chat is the chat at the top; nil in the tree of a standalone task.
	Chat *v1alpha1.AgentChat
}

// Lineage finds the ancestors of an AgentTask or a SubAgent. It reads from the API server what is not in the cache.
func (r Reader) Lineage(ctx context.Context, object client.Object) (Lineage, error) {
	return r.lineage(ctx, object, true)
}

func (r Reader) lineage(ctx context.Context, object client.Object, confirm bool) (Lineage, error) {
	var out Lineage
	for range maxLineage {
		ref := metav1.GetControllerOf(object)
		if ref == nil {
			out.Gone = needsOwner(object)
			return out, nil
		}
		above := newObject(ref.Kind)
		if above == nil {
			return out, nil // a standalone task may be owned by an object that is not Nestor's
		}
		name := types.NamespacedName{Namespace: object.GetNamespace(), Name: ref.Name}
		there, err := r.exists(ctx, name, ref.UID, above, confirm)
		if err != nil {
			return out, fmt.Errorf("get the owner of %s/%s: %w", object.GetNamespace(), object.GetName(), err)
		}
		if !there {
			out.Gone = true
			return out, nil
		}
		if _, task := above.(*v1alpha1.AgentTask); !task && out.Parent == nil {
			out.Parent = above
		}
		out.Chat, _ = above.(*v1alpha1.AgentChat)
		object = above
	}
	return out, fmt.Errorf("%s/%s has more than %d ancestors", object.GetNamespace(), object.GetName(), maxLineage)
}

// needsOwner reports whether an object without an owner was orphaned: with --cascade=orphan the garbage collector removes the reference. The
// label is all that is left then. Planted on a standalone task, it ends that task, which its author can do anyway.
func needsOwner(object client.Object) bool {
	switch o := object.(type) {
	case *v1alpha1.SubAgent:
		return true
	case *v1alpha1.AgentTask:
		return o.Spec.Chat != "" || o.Labels[v1alpha1.LabelParent] != ""
	}
	return false
}

func newObject(kind string) client.Object {
	switch kind {
	case "AgentChat":
		return &v1alpha1.AgentChat{}
	case "AgentTask":
		return &v1alpha1.AgentTask{}
	case "SubAgent":
		return &v1alpha1.SubAgent{}
	}
	return nil
}

// exists reports whether an object with this name and UID exists and is not being deleted. The cache may be stale, so with confirm set, a
// negative result is confirmed with the API server.
func (r Reader) exists(ctx context.Context, name types.NamespacedName, uid types.UID, object client.Object, confirm bool) (bool, error) {
	err := r.Cache.Get(ctx, name, object)
	if confirm && client.IgnoreNotFound(err) == nil && object.GetUID() != uid {
		reflect.ValueOf(object).Elem().SetZero()
		err = r.API.Get(ctx, name, object)
	}
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return object.GetUID() == uid && object.GetDeletionTimestamp().IsZero(), nil
}

// HasObject reports whether the object of an agent and all its ancestors exist. With confirm set, a negative result is confirmed with the
// API server.
func (r Reader) HasObject(ctx context.Context, a ledger.Agent, confirm bool) (bool, error) {
	object := newObject(a.Kind)
	if object == nil {
		return false, fmt.Errorf("agent %s has the unknown kind %s", a.UID, a.Kind)
	}
	there, err := r.exists(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, types.UID(a.UID), object, confirm)
	if err != nil || !there {
		return false, err
	}
	lineage, err := r.lineage(ctx, object, confirm)
	return !lineage.Gone, err
}
