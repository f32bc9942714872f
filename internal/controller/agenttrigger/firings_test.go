// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/trigger"
)

// TestNoFiringIsLostOrDoubled lets up to three operators act on one trigger at the same time, although only one should
// own it, with stale caches, pauses between any two requests, and crashes. Tasks end and are deleted at any time.
func TestNoFiringIsLostOrDoubled(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		policy := rapid.SampledFrom([]v1beta1.ConcurrencyPolicy{v1beta1.ConcurrencyAllow, v1beta1.ConcurrencyForbid, v1beta1.ConcurrencyReplace}).Draw(rt, "policy")
		w := newWorld(t, rapid.IntRange(1, 3).Draw(rt, "operators"), nightly(policy))
		pick := func() *operator { return w.operators[rapid.IntRange(0, len(w.operators)-1).Draw(rt, "operator")] }
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				for name, count := range w.started {
					if count > 1 {
						rt.Fatalf("the work of %s (%s) started %d times", name, w.recorded[name], count)
					}
				}
				if len(w.lost) > 0 {
					rt.Fatalf("an operator deleted %v while they worked", w.lost)
				}
			},
			"reconcile": func(*rapid.T) {
				if o := pick(); !o.busy {
					o.start(func(r *Reconciler) {
						_, _ = r.Reconcile(context.Background(), ctrl.Request{NamespacedName: theTrigger})
					})
				}
			},
			"webhook": func(rt *rapid.T) {
				id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "id")
				if o := pick(); !o.busy {
					o.start(func(r *Reconciler) {
						_, _ = r.Recorder.Fire(context.Background(), theTrigger, "", trigger.Firing{ID: trigger.WebhookID(id), Time: w.now})
					})
				}
			},
			"step": func(rt *rapid.T) {
				o := pick()
				for range rapid.IntRange(1, 4).Draw(rt, "steps") {
					if o.busy {
						o.step(false)
					}
				}
			},
			"crash": func(*rapid.T) {
				if o := pick(); o.busy {
					o.step(true)
				}
			},
			"renew the cache": func(*rapid.T) {
				if o := pick(); !o.busy {
					o.renew()
				}
			},
			"renew a part of the cache": func(rt *rapid.T) {
				w.snapshot()
				if o := pick(); !o.busy {
					newest := len(w.history) - 1
					o.renewTo(rapid.IntRange(o.triggers, newest).Draw(rt, "triggers"), rapid.IntRange(o.tasks, newest).Draw(rt, "tasks"))
				}
			},
			"time passes": func(rt *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(rt, "seconds")) * time.Second)
			},
			"the work of a task ends": func(rt *rapid.T) {
				for _, task := range w.tasks() {
					if w.seen[task.UID] && task.Status.CompletionTime == nil && rapid.Bool().Draw(rt, "this one") {
						task.Status.CompletionTime, task.Status.Phase = &metav1.Time{Time: w.now}, v1beta1.TaskSuccess
						if err := w.server.Status().Update(context.Background(), task); err != nil {
							rt.Fatal(err)
						}
						return
					}
				}
			},
			"a task is deleted": func(rt *rapid.T) {
				for _, task := range w.tasks() {
					if rapid.Bool().Draw(rt, "this one") {
						if cluster.IsHeld(task) {
							w.deletedHeld[task.Name] = true
						}
						if err := w.server.Delete(context.Background(), task); err != nil {
							rt.Fatal(err)
						}
						return
					}
				}
			},
		})
		w.finish()
		for name, id := range w.recorded {
			if w.started[name] != 1 && !w.deletedHeld[name] {
				rt.Fatalf("the work of the recorded firing %s started %d times", id, w.started[name])
			}
		}
		for name := range w.started {
			if w.recorded[name] == "" {
				rt.Fatalf("%s started, but was not recorded", name)
			}
		}
		for _, task := range w.tasks() {
			if cluster.IsHeld(task) {
				rt.Fatalf("%s is still held", task.Name)
			}
		}
		status := w.trigger().Status
		if len(status.Pending) > 0 {
			// Only firings whose work has started, and waits for the next write.
			for _, p := range status.Pending {
				if p.UID == "" || w.started[p.Name] != 1 && !w.deletedHeld[p.Name] {
					rt.Fatalf("pending: %+v", p)
				}
			}
		}
		if int(status.Firings) != len(w.recorded) {
			rt.Fatalf("%d firings, %d recorded", status.Firings, len(w.recorded))
		}
	})
}

// TestAReleasedTaskIsKept reconciles with each earlier version of the tasks after a firing: the cache may show for some
// time that a task is held, although its record is gone.
func TestAReleasedTaskIsKept(t *testing.T) {
	w := newWorld(t, 1, nightly(v1beta1.ConcurrencyAllow))
	o := w.operators[0]
	reconcile := func() {
		o.start(func(r *Reconciler) {
			_, _ = r.Reconcile(context.Background(), ctrl.Request{NamespacedName: theTrigger})
		})
		for o.busy {
			o.step(false)
		}
	}
	w.now = w.now.Add(time.Minute)
	for range 3 {
		reconcile()
		o.renewTo(len(w.history)-1, 0)
	}
	if pending := w.trigger().Status.Pending; len(w.tasks()) != 1 || len(pending) > 0 {
		t.Fatalf("%d tasks, pending: %v", len(w.tasks()), pending)
	}
	for moment := range w.history {
		o.renewTo(len(w.history)-1, moment)
		reconcile()
	}
	if len(w.tasks()) != 1 || len(w.lost) > 0 {
		t.Errorf("%d tasks, deleted: %v", len(w.tasks()), w.lost)
	}
}

// TestDeletedTriggerLeavesNothing deletes the trigger at each step of a firing: no object stays held.
func TestDeletedTriggerLeavesNothing(t *testing.T) {
	for steps := range 8 {
		t.Run(fmt.Sprintf("after %d requests", steps), func(t *testing.T) {
			w := newWorld(t, 1, nightly(v1beta1.ConcurrencyAllow))
			w.now = begin.Add(time.Minute)
			o := w.operators[0]
			o.start(func(r *Reconciler) {
				_, _ = r.Reconcile(context.Background(), ctrl.Request{NamespacedName: theTrigger})
			})
			for range steps {
				if o.busy {
					o.step(false)
				}
			}
			if err := w.server.Delete(t.Context(), w.trigger()); err != nil {
				t.Fatal(err)
			}
			w.finish()
			for _, task := range w.tasks() {
				if cluster.IsHeld(task) {
					t.Errorf("%s is held", task.Name)
				}
			}
		})
	}
}

func TestATakenNameIsReported(t *testing.T) {
	for _, name := range []string{trigger.Name("nightly", "trigger-1", trigger.ScheduleID(begin.Add(30*time.Second)))} {
		squatter := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: "squatter"}}
		w := newWorld(t, 1, nightly(v1beta1.ConcurrencyForbid), squatter)
		w.now = begin.Add(time.Minute)
		w.finish()
		status := w.trigger().Status
		if status.LastDrop == nil || status.LastDrop.Reason != v1beta1.DropNameTaken || status.Firings != 0 || status.Dropped != 1 || len(status.Active)+len(status.Pending) != 0 {
			t.Errorf("%+v", status)
		}
		tasks := w.tasks()
		if len(tasks) != 1 || tasks[0].UID != "squatter" || len(tasks[0].OwnerReferences) != 0 {
			t.Errorf("the other task was touched: %+v", tasks)
		}
		w.now = w.now.Add(time.Minute)
		w.finish()
		if w.trigger().Status.Firings != 1 {
			t.Error("the next time does not fire")
		}
	}
}

func TestReplaceCancelsAllButNewest(t *testing.T) {
	w := newWorld(t, 1, nightly(v1beta1.ConcurrencyReplace))
	for range 3 {
		w.now = w.now.Add(time.Minute)
		w.finish()
	}
	newest := trigger.Name("nightly", "trigger-1", trigger.ScheduleID(w.now.Truncate(time.Minute)))
	tasks := w.tasks()
	if len(tasks) != 3 {
		t.Fatalf("%d tasks", len(tasks))
	}
	for _, task := range tasks {
		if cancelled := task.Spec.Cancel; cancelled == (task.Name == newest) {
			t.Errorf("%s: cancelled %t", task.Name, cancelled)
		}
		if task.Spec.Cancel && !strings.HasPrefix(task.Annotations[v1beta1.AnnotationCancelledBy], "trigger nightly") {
			t.Errorf("cancelled by %q", task.Annotations[v1beta1.AnnotationCancelledBy])
		}
	}
}

func TestTheHistoryIsLimited(t *testing.T) {
	subject := nightly(v1beta1.ConcurrencyAllow)
	subject.Spec.SuccessfulTasksHistoryLimit, subject.Spec.FailedTasksHistoryLimit = new(int32(2)), new(int32(1))
	// A task of another owner with the label of the trigger, and one with its annotation, are not the trigger's.
	foreign := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "foreign", UID: "foreign", Labels: map[string]string{v1beta1.LabelTrigger: "nightly"},
		Annotations: map[string]string{v1beta1.AnnotationFiring: "trigger-1/s1"}}, Status: v1beta1.AgentTaskStatus{CompletionTime: &metav1.Time{Time: begin}, Phase: v1beta1.TaskSuccess}}
	w := newWorld(t, 1, subject, foreign)
	var ended []string
	for i := range 8 {
		w.now = w.now.Add(time.Minute)
		w.finish()
		for _, task := range w.tasks() {
			if task.Status.CompletionTime == nil {
				task.Status.CompletionTime, task.Status.Phase = &metav1.Time{Time: w.now}, v1beta1.TaskSuccess
				if i%2 == 1 {
					task.Status.Phase = v1beta1.TaskFailed
				}
				ended = append(ended, task.Name)
				if err := w.server.Status().Update(t.Context(), task); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	w.finish()
	var left []string
	for _, task := range w.tasks() {
		left = append(left, task.Name)
	}
	want := []string{"foreign", ended[4], ended[6], ended[7]}
	slices.Sort(left)
	slices.Sort(want)
	if !slices.Equal(left, want) {
		t.Errorf("%v are left, want %v", left, want)
	}
	if active := w.trigger().Status.Active; len(active) != 0 {
		t.Errorf("active: %v", active)
	}
}
