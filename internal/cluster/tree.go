// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Tree contains the part of a tree that Gather has read: an object, tasks with their sub-agents, and the objects
// above them. Neither it nor its objects may be changed. Of these, an object that is missing in a Tree does not
// exist.
type Tree struct {
	objects map[types.UID]client.Object
	// tasks are the tasks by name, and subAgents the sub-agents by the UID of their task.
	tasks     map[string]*v1beta1.AgentTask
	subAgents map[types.UID]*v1beta1.SubAgent
}

func newTree() Tree {
	return Tree{objects: map[types.UID]client.Object{}, tasks: map[string]*v1beta1.AgentTask{}, subAgents: map[types.UID]*v1beta1.SubAgent{}}
}

func (t Tree) add(object client.Object) {
	t.objects[object.GetUID()] = object
	switch o := object.(type) {
	case *v1beta1.AgentTask:
		t.tasks[o.Name] = o
	case *v1beta1.SubAgent:
		if ref := metav1.GetControllerOf(o); ref != nil {
			t.subAgents[ref.UID] = o
		}
	}
}

// Task returns the task with a name, or nil.
func (t Tree) Task(name string) *v1beta1.AgentTask { return t.tasks[name] }

// SubAgent returns the sub-agent of a task, or nil.
func (t Tree) SubAgent(task *v1beta1.AgentTask) *v1beta1.SubAgent { return t.subAgents[task.UID] }

// AgentUID returns the engine UID of a task's work: its sub-agent's, or its own if it is one tool call. It is empty for
// a task without a sub-agent.
func (t Tree) AgentUID(task *v1beta1.AgentTask) string {
	if task.Spec.Type == v1beta1.TaskTool {
		return string(task.UID)
	}
	if sub := t.SubAgent(task); sub != nil {
		return string(sub.UID)
	}
	return ""
}

// above returns the owner of an object in the tree: nil if it has none, or if it was deleted.
func (t Tree) above(object client.Object) client.Object {
	ref := metav1.GetControllerOf(object)
	if ref == nil || NewObject(ref.Kind) == nil {
		return nil // a standalone task may be owned by an object that is not Nestor's
	}
	return t.objects[ref.UID]
}

// IsWithin reports whether an object is top or below it.
func (t Tree) IsWithin(object, top client.Object) bool {
	for range maxLineage {
		if object == nil || object.GetUID() == top.GetUID() {
			return object != nil
		}
		object = t.above(object)
	}
	return false
}

// Lineage returns the ancestors of an object.
func (t Tree) Lineage(object client.Object) Lineage {
	out := Lineage{Root: object}
	for range maxLineage {
		above := t.above(object)
		if above == nil {
			ref := metav1.GetControllerOf(object)
			out.Gone = ref == nil && needsOwner(object) || ref != nil && NewObject(ref.Kind) != nil
			return out
		}
		if !above.GetDeletionTimestamp().IsZero() {
			out.Gone = true
			return out
		}
		if _, task := above.(*v1beta1.AgentTask); !task && out.Parent == nil {
			out.Parent = above
		}
		out.Chat, _ = above.(*v1beta1.AgentChat)
		out.Root, object = above, above
	}
	out.Gone = true // a longer chain of owners is not a tree
	return out
}
