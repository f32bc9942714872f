// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// ChatField is the index of tasks and messages by their chat, TaskField that of messages by their standalone task, and OwnerField that
// of sub-agents by the UID of their task.
const (
	ChatField  = "spec.chat"
	TaskField  = "spec.task"
	OwnerField = "metadata.controller"
)

// Index makes the indexes that the controllers of runs need.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		object client.Object
		field  string
		value  func(client.Object) string
	}{
		{&v1alpha1.AgentTask{}, ChatField, ChatOf},
		{&v1alpha1.AgentMessage{}, ChatField, ChatOf},
		{&v1alpha1.SubAgent{}, OwnerField, controllerUID},
		{&v1alpha1.AgentMessage{}, TaskField, func(o client.Object) string { return o.(*v1alpha1.AgentMessage).Spec.Task }},
	} {
		err := indexer.IndexField(ctx, index.object, index.field, func(object client.Object) []string {
			if name := index.value(object); name != "" {
				return []string{name}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("index %T by %s: %w", index.object, index.field, err)
		}
	}
	return nil
}

func controllerUID(object client.Object) string {
	if ref := metav1.GetControllerOf(object); ref != nil {
		return string(ref.UID)
	}
	return ""
}

// ChatOf is the chat that a task or message belongs to, if it belongs to one.
func ChatOf(object client.Object) string {
	switch o := object.(type) {
	case *v1alpha1.AgentTask:
		return o.Spec.Chat
	case *v1alpha1.AgentMessage:
		return o.Spec.Chat
	}
	return ""
}

// PhaseChanged lets pass what others may count or wait for: tasks that come, go, or change their phase.
func PhaseChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.AgentTask)
		after, alsoOK := e.ObjectNew.(*v1alpha1.AgentTask)
		return ok && alsoOK && before.Status.Phase != after.Status.Phase
	}}
}

// Ended lets pass the tasks of sub-agents when their end has been written.
func Ended() predicate.Predicate {
	ended := func(object client.Object) bool {
		task, ok := object.(*v1alpha1.AgentTask)
		return ok && task.Status.SubAgent != "" && task.Status.CompletionTime != nil
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, // sub-agents are looked at when the operator begins
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return ended(e.ObjectNew) && !ended(e.ObjectOld) },
	}
}

// Hindered lets pass sub-agents that say why they have not begun, or never will: their tasks show it.
func Hindered() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1alpha1.SubAgent)
			after, alsoOK := e.ObjectNew.(*v1alpha1.SubAgent)
			if !ok || !alsoOK || equality.Semantic.DeepEqual(before.Status, after.Status) {
				return false
			}
			return after.Status.StartTime == nil || before.Status.Error == nil && after.Status.Error != nil // it may have lost its history
		},
	}
}

// Orphaned lets pass objects that lose their owner: what asked for them was deleted with --cascade=orphan.
func Orphaned() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return controllerUID(e.ObjectOld) != controllerUID(e.ObjectNew) },
	}
}

// Going lets pass objects that are deleted, or are about to be.
func Going() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetDeletionTimestamp().IsZero() && !e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
	}
}

// CameOrWent lets pass objects that are created or deleted.
func CameOrWent() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// Went lets pass objects that are deleted.
func Went() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}
