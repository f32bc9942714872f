// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Edited selects objects that are created, deleted, or whose spec changes. An object that was deleted and created again
// while a watch was interrupted appears as one update, from generation 1 to generation 1.
func Edited() predicate.Predicate {
	recreated := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() }}
	return predicate.Or(predicate.GenerationChangedPredicate{}, recreated)
}

// PhaseChanged selects tasks that are created, deleted, or change their phase, which others count or wait for.
func PhaseChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1beta1.AgentTask)
		after, alsoOK := e.ObjectNew.(*v1beta1.AgentTask)
		return ok && alsoOK && before.Status.Phase != after.Status.Phase
	}}
}

// ShownByTask selects sub-agents whose status shows why they have not started, or their end: their tasks show it too.
func ShownByTask() predicate.Predicate {
	ended := func(object client.Object) bool {
		sub, ok := object.(*v1beta1.SubAgent)
		return ok && sub.Status.CompletionTime != nil
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return ended(e.Object) }, // a watch that was interrupted has missed the update
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1beta1.SubAgent)
			after, alsoOK := e.ObjectNew.(*v1beta1.SubAgent)
			if !ok || !alsoOK || before.UID != after.UID {
				return ended(e.ObjectNew)
			}
			shown := after.Status.StartTime == nil || ended(after) && !ended(before)
			return shown && !equality.Semantic.DeepEqual(before.Status, after.Status) // in this order: comparing is expensive
		},
	}
}

// Orphaned selects objects that lose their owner, which was deleted with --cascade=orphan.
func Orphaned() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return controllerUID(e.ObjectOld) != controllerUID(e.ObjectNew) },
	}
}

// IsHeld reports whether the firing that created a task or message is not confirmed. The work of such an object must
// not start. The finalizer counts only on an object of a trigger: on other objects it was planted, and must not stop
// their work.
func IsHeld(object client.Object) bool {
	return hasFiringFinalizer(object) && isOwnedByTrigger(object)
}

func hasFiringFinalizer(object client.Object) bool {
	return slices.Contains(object.GetFinalizers(), v1beta1.FinalizerFiring)
}

// isOwnedByTrigger reports whether the trigger in an object's annotation is its owner. For a task that owner must be
// the controller: the task of an agent has another one.
func isOwnedByTrigger(object client.Object) bool {
	uid := TriggerUID(object)
	if _, isTask := object.(*v1beta1.AgentTask); isTask {
		return uid != "" && controllerUID(object) == uid
	}
	return slices.ContainsFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		return uid != "" && string(o.UID) == uid
	})
}

// Released selects tasks and messages whose firing was confirmed.
func Released() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return IsHeld(e.ObjectOld) && !IsHeld(e.ObjectNew) },
	}
}

// Deleting selects objects that are deleted or being deleted.
func Deleting() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetDeletionTimestamp().IsZero() && !e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
	}
}

// HasFinalPhase reports whether a message was handled or rejected.
func HasFinalPhase(m *v1beta1.AgentMessage) bool {
	return m.Status.Phase == v1beta1.MessageHandled || m.Status.Phase == v1beta1.MessageRejected
}

// Handled selects messages that reach their final phase: their chat waits for it.
func Handled() predicate.Predicate {
	handled := func(object client.Object) bool {
		message, ok := object.(*v1beta1.AgentMessage)
		return ok && HasFinalPhase(message)
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return handled(e.ObjectNew) && !handled(e.ObjectOld) },
	}
}

// CreatedOrDeleted selects objects that are created or deleted.
func CreatedOrDeleted() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// Deleted selects objects that are deleted.
func Deleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}
