// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// maxLineage is more than the possible nesting of objects; a longer chain of owners is not a tree.
const maxLineage = 16

// Lineage contains the ancestors of an object in a tree, found by the UIDs of owner references.
type Lineage struct {
	// Gone reports that an ancestor was deleted or is being deleted: the object waits for the garbage collector, or is an
	// orphan.
	Gone bool
	// Parent is the chat or sub-agent that asked for the object; nil for a standalone task and its sub-agent.
	Parent client.Object
	// Root is the object at the top: a chat, a standalone task, or the object itself if it has no owner in the tree.
	// Chat is the root if it is a chat.
	Root client.Object
	Chat *v1beta1.AgentChat
}

// needsOwner reports whether an object without an owner was orphaned: with --cascade=orphan the garbage collector
// removes the reference. The label is all that is left then. Planted on a standalone task, it ends that task, which its
// author can do anyway.
func needsOwner(object client.Object) bool {
	switch o := object.(type) {
	case *v1beta1.SubAgent:
		return true
	case *v1beta1.AgentTask:
		return o.Spec.Chat != "" || o.Labels[v1beta1.LabelParent] != ""
	}
	return false
}

// NewObject returns an empty object of a kind that has agents, or nil for another kind.
func NewObject(kind string) client.Object {
	switch kind {
	case "AgentChat":
		return &v1beta1.AgentChat{}
	case "AgentTask":
		return &v1beta1.AgentTask{}
	case "SubAgent":
		return &v1beta1.SubAgent{}
	}
	return nil
}

// HasObject reports whether the object of an agent and all its ancestors exist. With confirm set, a negative result is
// confirmed with the API server.
func (r Reader) HasObject(ctx context.Context, a ledger.Agent, confirm bool) (bool, error) {
	object, err := agentObject(ctx, a, r.Observed)
	if err == nil && object == nil && confirm {
		object, err = agentObject(ctx, a, r.Live)
	}
	if err != nil || object == nil {
		return false, err
	}
	from := []Read{r.Observed, r.Live}
	if !confirm {
		from = from[:1]
	}
	t := newTree()
	err = t.addAncestors(ctx, object, from...)
	return err == nil && !t.Lineage(object).Gone, err
}

// Confirm reads the object of an agent and its ancestors from the API server. The object is nil if it was deleted or
// replaced.
func (r Reader) Confirm(ctx context.Context, a ledger.Agent) (client.Object, Lineage, error) {
	object, err := agentObject(ctx, a, r.Live)
	if err != nil || object == nil {
		return nil, Lineage{}, err
	}
	t := newTree()
	if err := t.addAncestors(ctx, object, r.Live); err != nil {
		return nil, Lineage{}, err
	}
	return object, t.Lineage(object), nil
}

// Deleted reports whether the object of an agent was deleted, and whether one of its ancestors was. Both are read from
// the API server.
func (r Reader) Deleted(ctx context.Context, a ledger.Agent) (object, ancestor bool, err error) {
	live, above, err := r.Confirm(ctx, a)
	return err == nil && live == nil, above.Gone, err
}

// agentObject reads the object of an agent. It returns nil if the object does not exist or is being deleted.
func agentObject(ctx context.Context, a ledger.Agent, read Read) (client.Object, error) {
	object := NewObject(a.Kind)
	if object == nil {
		return nil, fmt.Errorf("agent %s has the unknown kind %s", a.UID, a.Kind)
	}
	if err := read(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, object); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if string(object.GetUID()) != a.UID || !object.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	return object, nil
}
