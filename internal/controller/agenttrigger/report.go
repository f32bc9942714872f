// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/trigger"
)

const (
	// reasonReport is the reason of Events that report the end of a task.
	reasonReport = "AgentReport"
	// maxNote bounds the text of an Event; the API allows 1024 bytes.
	maxNote = 1000
)

// reportObject returns the watched object of a firing, or nil. A person who fires a trigger chooses the object, so
// nothing is reported to it.
func reportObject(spec v1beta1.AgentTriggerSpec, f trigger.Firing) *v1beta1.WatchedObject {
	if spec.Watch == nil || spec.Watch.Report != v1beta1.ReportEvent || spec.Task == nil || f.Manual || f.Input.Object == nil {
		return nil
	}
	object := unstructured.Unstructured{Object: f.Input.Object}
	return &v1beta1.WatchedObject{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName(), UID: string(object.GetUID())}
}

// report emits the Events of tasks that have ended. An Event may be emitted twice if the operator stops in between.
func (r *Reconciler) report(ctx context.Context, t *v1beta1.AgentTrigger) error {
	if t.Spec.Watch == nil {
		return nil
	}
	tasks, err := r.endedTasks(ctx, t)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		if task.Annotations[v1beta1.AnnotationReportTo] == "" {
			continue
		}
		if err := r.reportEnd(ctx, task.DeepCopy()); err != nil {
			return err
		}
	}
	return nil
}

// endedTasks returns the cached tasks of a trigger that have ended. The caller must not change them.
func (r *Reconciler) endedTasks(ctx context.Context, t *v1beta1.AgentTrigger) ([]*v1beta1.AgentTask, error) {
	var list v1beta1.AgentTaskList
	ours := client.MatchingFields{cluster.TriggerField: string(t.UID)}
	if err := r.Client.List(ctx, &list, client.InNamespace(t.Namespace), ours, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the tasks of trigger %s/%s: %w", t.Namespace, t.Name, err)
	}
	var tasks []*v1beta1.AgentTask
	for i := range list.Items {
		if task := &list.Items[i]; task.Status.CompletionTime != nil && belongsTo(task, t.UID) {
			tasks = append(tasks, task)
		}
	}
	return tasks, nil
}

// reportEnd emits the Event of a task that has ended.
func (r *Reconciler) reportEnd(ctx context.Context, task *v1beta1.AgentTask) error {
	var to v1beta1.WatchedObject
	if err := json.Unmarshal([]byte(task.Annotations[v1beta1.AnnotationReportTo]), &to); err == nil && r.Recorder.Events != nil {
		object := &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: to.APIVersion, Kind: to.Kind},
			ObjectMeta: metav1.ObjectMeta{Namespace: task.Namespace, Name: to.Name, UID: types.UID(to.UID)},
		}
		kind, note := endOf(task)
		r.Recorder.Events.Eventf(object, task, kind, reasonReport, "Report", "%s", shorten.Head(note, maxNote))
	}
	delete(task.Annotations, v1beta1.AnnotationReportTo)
	if err := client.IgnoreNotFound(r.Client.Update(ctx, task)); err != nil {
		return fmt.Errorf("note that task %s/%s was reported: %w", task.Namespace, task.Name, err)
	}
	return nil
}

// endOf returns the type and the text of the Event of a task that has ended.
func endOf(task *v1beta1.AgentTask) (kind, note string) {
	if result := task.Status.Result; task.Status.Phase == v1beta1.TaskSuccess && result != nil {
		return corev1.EventTypeNormal, cmp.Or(result.Summary, result.Details)
	}
	note = "Task " + task.Name + " ended without a result: " + string(task.Status.Phase)
	if task.Status.Error != nil {
		note += ": " + task.Status.Error.Message
	}
	return corev1.EventTypeWarning, note
}
