// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// Gather reads the tree of an object. Its ancestors, the tasks with the given names and their sub-agents are read from the API server if the
// cache does not have them. A task that is found by its name only may belong to another tree: see IsWithin.
func (r Reader) Gather(ctx context.Context, object client.Object, tasks ...string) (Tree, error) {
	t, err := r.cachedTree(ctx, object)
	if err != nil {
		return Tree{}, err
	}
	if err := t.addAncestors(ctx, object, r.Cache, r.API); err != nil {
		return Tree{}, err
	}
	for _, name := range tasks {
		if err := t.addTask(ctx, r.API, object.GetNamespace(), name); err != nil {
			return Tree{}, err
		}
	}
	return t, nil
}

// addTask adds a task and its sub-agent, if the tree does not have them, and the ancestors of the task.
func (t Tree) addTask(ctx context.Context, live client.Reader, namespace, name string) error {
	if t.tasks[name] == nil {
		found, err := objectRef{kind: "AgentTask", name: name}.read(ctx, live, namespace)
		if err != nil || found == nil {
			return err
		}
		t.add(found)
	}
	task := t.tasks[name]
	if err := t.addAncestors(ctx, task, live); err != nil || task.Spec.Type == v1alpha1.TaskTool {
		return err
	}
	for _, name := range append(SubAgentNames(task), task.Status.SubAgent) {
		if name == "" || t.subAgents[task.UID] != nil {
			continue
		}
		found, err := objectRef{kind: "SubAgent", name: name, owner: task.UID}.read(ctx, live, namespace)
		if err != nil {
			return err
		}
		if found != nil {
			t.add(found)
		}
	}
	return nil
}

// cachedTree reads the tree of an object from the cache.
func (r Reader) cachedTree(ctx context.Context, object client.Object) (Tree, error) {
	t := newTree()
	var tasks v1alpha1.AgentTaskList
	var agents v1alpha1.SubAgentList
	for _, list := range []client.ObjectList{&tasks, &agents} {
		which := []client.ListOption{client.InNamespace(object.GetNamespace()), client.MatchingFields{RootField: string(RootUID(object))}, client.UnsafeDisableDeepCopy}
		if err := r.Cache.List(ctx, list, which...); err != nil {
			return t, fmt.Errorf("list the tree of %s/%s: %w", object.GetNamespace(), object.GetName(), err)
		}
	}
	for i := range tasks.Items {
		t.add(&tasks.Items[i])
	}
	for i := range agents.Items {
		t.add(&agents.Items[i])
	}
	t.add(object)
	return t, nil
}

// addAncestors adds the ancestors of an object.
func (t Tree) addAncestors(ctx context.Context, object client.Object, from ...client.Reader) error {
	for range maxLineage {
		ref, missing := t.missing(object)
		if !missing {
			return nil
		}
		var found client.Object
		for _, reader := range from {
			var err error
			if found, err = ref.read(ctx, reader, object.GetNamespace()); err != nil {
				return err
			}
			if found != nil {
				break
			}
		}
		if found == nil {
			return nil
		}
		t.add(found)
	}
	return nil
}

// objectRef refers to an object of a tree: by the UID of its owner for a sub-agent, by its own for others if it is known.
type objectRef struct {
	kind, name string
	uid, owner types.UID
}

// read reads the object that is meant. It returns nil if there is none.
func (r objectRef) read(ctx context.Context, from client.Reader, namespace string) (client.Object, error) {
	object := newObject(r.kind)
	err := from.Get(ctx, types.NamespacedName{Namespace: namespace, Name: r.name}, object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s/%s: %w", r.kind, namespace, r.name, err)
	}
	owner := metav1.GetControllerOf(object)
	if r.uid != "" && object.GetUID() != r.uid || r.owner != "" && (owner == nil || owner.UID != r.owner) {
		return nil, nil
	}
	return object, nil
}

// missing returns the nearest ancestor of an object that the tree does not have.
func (t Tree) missing(object client.Object) (objectRef, bool) {
	for range maxLineage {
		ref := metav1.GetControllerOf(object)
		if ref == nil || newObject(ref.Kind) == nil {
			return objectRef{}, false
		}
		if object = t.objects[ref.UID]; object == nil {
			return objectRef{kind: ref.Kind, name: ref.Name, uid: ref.UID}, true
		}
	}
	return objectRef{}, false
}
