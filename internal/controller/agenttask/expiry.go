// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttask

import (
	"context"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cluster"
)

// finishedTasks returns requests for the finished tasks of a chat whose TTL has changed.
func (r *Reconciler) finishedTasks(ctx context.Context, chat client.Object) []ctrl.Request {
	var tasks v1alpha1.AgentTaskList
	ours := []client.ListOption{client.InNamespace(chat.GetNamespace()), client.MatchingFields{cluster.ChatField: chat.GetName()}, client.UnsafeDisableDeepCopy}
	if err := r.Client.List(ctx, &tasks, ours...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list the finished tasks of a chat", "AgentChat", client.ObjectKeyFromObject(chat))
		return nil
	}
	var requests []ctrl.Request
	for i := range tasks.Items {
		if tasks.Items[i].Status.CompletionTime != nil {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&tasks.Items[i])})
		}
	}
	return requests
}

// ttlChanged selects the updates of a chat that change the TTL of its finished tasks.
func ttlChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1alpha1.AgentChat)
			after, alsoOK := e.ObjectNew.(*v1alpha1.AgentChat)
			return ok && alsoOK && !ptr.Equal(before.Spec.TaskTTLSecondsAfterFinished, after.Spec.TaskTTLSecondsAfterFinished)
		},
	}
}
