// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/trigger"
)

// markedTask returns a task with the marks of an unclaimed firing of the trigger with this UID, and with a controller.
func markedTask(name, firing, kind string, controller types.UID) *v1beta1.AgentTask {
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: name, UID: types.UID(name), Finalizers: []string{v1beta1.FinalizerFiring},
		Labels: map[string]string{v1beta1.LabelTrigger: "nightly"}, Annotations: map[string]string{v1beta1.AnnotationFiring: firing},
	}}
	if controller != "" {
		task.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1beta1.GroupVersion.String(), Kind: kind, Name: "owner", UID: controller, Controller: ptr.To(true),
		}}
	}
	return task
}

func TestPlantedMarksDeleteNothing(t *testing.T) {
	for name, task := range map[string]*v1beta1.AgentTask{
		"of a chat":            markedTask("talk-1", "trigger-1/s1", "AgentChat", "chat"),
		"of a sub-agent":       markedTask("talk-1", "chat/s1", "SubAgent", "sub"),
		"without a controller": markedTask("talk-1", "trigger-1/s1", "", ""),
		"without a firing":     markedTask("talk-1", "", "AgentTrigger", "trigger-1"),
	} {
		t.Run(name, func(t *testing.T) {
			if cluster.IsHeld(task) {
				t.Error("the work of the task does not start")
			}
			w := newWorld(t, 1, nightly(v1beta1.ConcurrencyAllow), task)
			w.finish()
			tasks := w.tasks()
			if len(tasks) != 1 || !tasks[0].DeletionTimestamp.IsZero() {
				t.Fatalf("the task was deleted: %+v", tasks)
			}
			if len(tasks[0].Finalizers) != 0 {
				t.Error("the finalizer stays")
			}
		})
	}
	t.Run("control: of an earlier trigger", func(t *testing.T) {
		w := newWorld(t, 1, nightly(v1beta1.ConcurrencyAllow), markedTask("nightly-1", "trigger-0/s1", "AgentTrigger", "trigger-0"))
		w.finish()
		if tasks := w.tasks(); len(tasks) != 0 {
			t.Errorf("an unclaimed task stays: %+v", tasks)
		}
	})
}

// A task of the expected name that is not held was not created for the firing.
func TestPlantedTaskIsNotClaimed(t *testing.T) {
	name := trigger.Name("nightly", "trigger-1", trigger.ScheduleID(begin.Add(30*time.Second)))
	planted := markedTask(name, "trigger-1/s1", "AgentTrigger", "trigger-1")
	planted.Finalizers = nil
	w := newWorld(t, 1, nightly(v1beta1.ConcurrencyForbid), planted)
	w.now = begin.Add(time.Minute)
	w.finish()
	if drop := w.trigger().Status.LastDrop; drop == nil || drop.Reason != v1beta1.DropNameTaken {
		t.Errorf("the firing was not dropped: %+v", drop)
	}
}
