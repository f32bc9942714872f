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

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Gather reads the objects above an object, and the tasks with the given names with their sub-agents and the objects
// above them. All are read by name, from the API server if the cache does not have them: the tree of a chat may have
// thousands of objects, and a reconcile needs a few. A task that is found by its name only may belong to another
// tree: see IsWithin.
func (r Reader) Gather(ctx context.Context, object client.Object, tasks ...string) (Tree, error) {
	t := newTree()
	t.add(object)
	if err := t.addAncestors(ctx, object, r.Observed, r.Live); err != nil {
		return Tree{}, err
	}
	for _, name := range tasks {
		if err := r.addTask(ctx, t, object, name); err != nil {
			return Tree{}, err
		}
	}
	return t, nil
}

// addTask adds a task, its sub-agent, and its ancestors. A cached task that is not below top may have been replaced
// by one that is.
func (r Reader) addTask(ctx context.Context, t Tree, top client.Object, name string) error {
	for _, from := range []Read{r.Observed, r.Live} {
		if task := t.tasks[name]; task != nil && t.IsWithin(task, top) {
			break
		}
		task, err := objectRef{kind: "AgentTask", name: name}.read(ctx, from, top.GetNamespace())
		if err != nil {
			return err
		}
		if task == nil {
			continue
		}
		t.add(task)
		if err := t.addAncestors(ctx, task, r.Observed, r.Live); err != nil {
			return err
		}
	}
	task := t.tasks[name]
	if task == nil || task.Spec.Type == v1beta1.TaskTool {
		return nil
	}
	sub, err := r.FindSubAgent(ctx, task)
	if err == nil && sub != nil {
		t.add(sub)
	}
	return err
}

// addAncestors adds the ancestors of an object. One that the first reader does not have is read from the next.
func (t Tree) addAncestors(ctx context.Context, object client.Object, from ...Read) error {
	for range maxLineage {
		ref, missing := t.missing(object)
		if !missing {
			return nil
		}
		var owner client.Object
		for _, read := range from {
			var err error
			if owner, err = ref.read(ctx, read, object.GetNamespace()); err != nil {
				return err
			}
			if owner != nil {
				break
			}
		}
		if owner == nil {
			return nil
		}
		t.objects[owner.GetUID()] = owner // not by its name, which another task may have by now
	}
	return nil
}

// objectRef refers to an object of a tree, by its UID too if that is known.
type objectRef struct {
	kind, name string
	uid        types.UID
}

// read reads the object that is meant. It returns nil if there is none.
func (r objectRef) read(ctx context.Context, from Read, namespace string) (client.Object, error) {
	object := NewObject(r.kind)
	err := from(ctx, types.NamespacedName{Namespace: namespace, Name: r.name}, object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s/%s: %w", r.kind, namespace, r.name, err)
	}
	if r.uid != "" && object.GetUID() != r.uid {
		return nil, nil
	}
	return object, nil
}

// missing returns the nearest ancestor of an object that the tree does not have.
func (t Tree) missing(object client.Object) (objectRef, bool) {
	for range maxLineage {
		ref := metav1.GetControllerOf(object)
		if ref == nil || NewObject(ref.Kind) == nil {
			return objectRef{}, false
		}
		if object = t.objects[ref.UID]; object == nil {
			return objectRef{kind: ref.Kind, name: ref.Name, uid: ref.UID}, true
		}
	}
	return objectRef{}, false
}
