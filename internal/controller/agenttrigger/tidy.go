// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// defaultHistory is the default of the history limits in the API.
const defaultHistory = 3

// tidy cancels work that a newer firing replaces, and deletes old tasks.
func (r *Reconciler) tidy(ctx context.Context, t *v1beta1.AgentTrigger) error {
	if t.Spec.ConcurrencyPolicy == v1beta1.ConcurrencyReplace && len(t.Status.Active) > 1 {
		for _, name := range t.Status.Active[:len(t.Status.Active)-1] {
			if err := r.cancel(ctx, t, name); err != nil {
				return err
			}
		}
	}
	return r.limitHistory(ctx, t)
}

func (r *Reconciler) cancel(ctx context.Context, t *v1beta1.AgentTrigger, name string) error {
	object, err := r.Recorder.find(ctx, t, v1beta1.TargetTask, name)
	task, ok := object.(*v1beta1.AgentTask)
	if err != nil || !ok || task.Spec.Cancel || task.Status.CompletionTime != nil || !task.DeletionTimestamp.IsZero() {
		return err
	}
	task.Spec.Cancel = true
	metav1.SetMetaDataAnnotation(&task.ObjectMeta, v1beta1.AnnotationCancelledBy, "trigger "+t.Name+", which fired again")
	if err := client.IgnoreNotFound(r.Client.Update(ctx, task)); err != nil {
		return fmt.Errorf("cancel task %s/%s: %w", task.Namespace, task.Name, err)
	}
	return nil
}

// limitHistory deletes the oldest tasks that have ended beyond the limits of a trigger.
func (r *Reconciler) limitHistory(ctx context.Context, t *v1beta1.AgentTrigger) error {
	tasks, err := r.endedTasks(ctx, t)
	if err != nil {
		return err
	}
	var succeeded, failed []*v1beta1.AgentTask
	for _, task := range tasks {
		switch {
		case !task.DeletionTimestamp.IsZero():
		case task.Status.Phase == v1beta1.TaskSuccess:
			succeeded = append(succeeded, task)
		default:
			failed = append(failed, task)
		}
	}
	if err := r.deleteOldest(ctx, succeeded, int(ptr.Deref(t.Spec.SuccessfulTasksHistoryLimit, defaultHistory))); err != nil {
		return err
	}
	return r.deleteOldest(ctx, failed, int(ptr.Deref(t.Spec.FailedTasksHistoryLimit, defaultHistory)))
}

// deleteOldest deletes the tasks that ended first, and keeps a number of them.
func (r *Reconciler) deleteOldest(ctx context.Context, tasks []*v1beta1.AgentTask, keep int) error {
	slices.SortFunc(tasks, func(a, b *v1beta1.AgentTask) int {
		return cmp.Or(a.Status.CompletionTime.Compare(b.Status.CompletionTime.Time), cmp.Compare(version(a), version(b)), cmp.Compare(a.Name, b.Name))
	})
	for _, task := range tasks[:max(0, len(tasks)-keep)] {
		if !r.Settled(task) {
			continue
		}
		uid := task.UID
		doomed := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: task.Namespace, Name: task.Name, UID: uid}}
		if err := client.IgnoreNotFound(r.Client.Delete(ctx, doomed, client.Preconditions{UID: &uid})); err != nil {
			return fmt.Errorf("delete task %s/%s beyond the history limit: %w", task.Namespace, task.Name, err)
		}
	}
	return nil
}

// version returns the resource version of a task as a number. The end is the last write of most tasks, and times have
// whole seconds.
func version(task *v1beta1.AgentTask) uint64 {
	number, _ := strconv.ParseUint(task.ResourceVersion, 10, 64) // versions that are not numbers have no order and compare as equal
	return number
}

// clearRefusal removes a problem with the creation of an object: all recorded firings have their objects.
func clearRefusal(next *v1beta1.AgentTriggerStatus, generation int64) {
	c := meta.FindStatusCondition(next.Conditions, v1beta1.ConditionReady)
	waiting := slices.ContainsFunc(next.Pending, func(p v1beta1.PendingFiring) bool { return p.UID == "" })
	if c != nil && c.Reason == v1beta1.ReasonCreationRefused && !waiting {
		c.ObservedGeneration = generation - 1 // it is replaced
	}
}
