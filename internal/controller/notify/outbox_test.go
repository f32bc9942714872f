// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/push"
)

type attempt struct {
	task   objectKey
	config string
	state  string
	done   func(outcome)
}

// recorder is an outbox whose attempts are kept.
type recorder struct {
	outbox
	attempts []attempt
}

func newRecorder() *recorder {
	r := &recorder{}
	r.start = func(task objectKey, to target, n notification, done func(outcome)) {
		r.attempts = append(r.attempts, attempt{task, to.id, n.state, done})
	}
	return r
}

// take returns the attempts since the last call.
func (r *recorder) take() []attempt {
	taken := r.attempts
	r.attempts = nil
	return taken
}

func (r *recorder) show(task *v1beta1.AgentTask, state string, ids ...string) due {
	var targets []target
	for _, id := range ids {
		targets = append(targets, target{id: id, since: func(newest string) []notification {
			if state == "" || state == newest {
				return nil
			}
			return []notification{{state: state}}
		}})
	}
	return r.update(keyOf(task), task, targets, time.Now())
}

func keyOf(task *v1beta1.AgentTask) objectKey {
	return objectKey{kindTask, client.ObjectKeyFromObject(task)}
}

func makeTask(namespace, name string) *v1beta1.AgentTask {
	task := &v1beta1.AgentTask{}
	task.Namespace, task.Name, task.UID = namespace, name, types.UID(namespace+name)
	return task
}

func (r *recorder) save(t *testing.T, task *v1beta1.AgentTask, records map[string]push.Record) {
	t.Helper()
	if err := push.WriteRecords(task, records); err != nil {
		t.Fatal(err)
	}
	r.recorded(keyOf(task), records)
}

func TestStatesAreDeliveredInOrder(t *testing.T) {
	r, task := newRecorder(), makeTask("team", "task")
	for _, state := range []string{"", "working", "working", "input-required/1", "working", "completed"} {
		r.show(task, state, "a")
	}
	var got []string
	for range 10 {
		for _, a := range r.take() {
			got = append(got, a.state)
			a.done(outcome{})
		}
		r.show(task, "completed", "a")
	}
	if want := []string{"working", "input-required/1", "working", "completed"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("delivered %v, want %v", got, want)
	}
}

// TestRestart delivers again what was not recorded, and nothing else. The outbox forgets a task that has ended, but not
// before the cache has the record.
func TestRestart(t *testing.T) {
	r, task := newRecorder(), makeTask("team", "task")
	r.show(task, "working", "a", "b")
	for _, a := range r.take() {
		a.done(outcome{})
	}
	wanted := r.show(task, "working", "a", "b").record
	if want := map[string]push.Record{"a": {State: "working"}, "b": {State: "working"}}; !reflect.DeepEqual(wanted, want) {
		t.Fatalf("to record %v, want %v", wanted, want)
	}
	// The process ends before the record is written: both are delivered again.
	r = newRecorder()
	r.show(task, "working", "a", "b")
	if again := r.take(); len(again) != 2 {
		t.Fatalf("delivered again: %v", again)
	}
	r = newRecorder()
	r.save(t, task, wanted)
	if again := r.show(task, "working", "a", "b"); len(r.take()) != 0 || again.record != nil {
		t.Error("a recorded state was delivered again")
	}
	stale := task.DeepCopy()
	now := metav1.Now()
	task.Status.CompletionTime, stale.Status.CompletionTime = &now, &now
	r.show(task, "completed", "a", "b")
	for _, a := range r.take() {
		a.done(outcome{})
	}
	r.save(t, task, r.show(task, "completed", "a", "b").record)
	r.show(stale, "completed", "a", "b")
	if len(r.take()) != 0 || len(r.objects) != 1 {
		t.Error("a stale task was notified again, or forgotten")
	}
	r.show(task, "completed", "a", "b")
	if len(r.objects) != 0 {
		t.Error("a task that has ended is not forgotten")
	}
	r.show(task, "completed", "a", "b")
	if len(r.take()) != 0 {
		t.Error("a task that has ended was notified again")
	}
}

func TestRetriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, task, began := newRecorder(), makeTask("team", "task"), time.Now()
		tries := 0
		for next := r.show(task, "working", "a"); ; next = r.show(task, "working", "a") {
			for _, a := range r.take() {
				tries++
				a.done(outcome{failure: "status 500"})
			}
			if next.record != nil {
				if got := next.record["a"]; !reflect.DeepEqual(got, push.Record{State: "working", Error: "status 500"}) {
					t.Errorf("recorded %v", got)
				}
				break
			}
			<-time.After(next.after)
		}
		if took := time.Since(began); tries != maxAttempts || took < 5*time.Minute || took > 20*time.Minute {
			t.Errorf("%d attempts in %s", tries, took)
		}
		// The next state has its own attempts.
		r.show(task, "completed", "a")
		next := r.take()
		if len(next) != 1 || next[0].state != "completed" {
			t.Errorf("then delivered %v", next)
		}
	})
}

func TestRefusedNotificationIsNotRepeated(t *testing.T) {
	r, task := newRecorder(), makeTask("team", "task")
	r.show(task, "working", "a")
	r.take()[0].done(outcome{failure: "status 404", final: true})
	if next := r.show(task, "working", "a"); len(r.take()) != 0 || next.record["a"].Error != "status 404" {
		t.Errorf("next %v", next)
	}
}

// TestSlowReceiverDelaysNobodyElse keeps every attempt of one namespace open. Other configurations and namespaces are
// delivered, and the memory of the outbox is bounded.
func TestSlowReceiverDelaysNobodyElse(t *testing.T) {
	r, task := newRecorder(), makeTask("team", "task")
	for i := range 100 {
		r.show(task, fmt.Sprintf("input-required/%d", i), "slow", "fast")
		for _, a := range r.take() {
			if a.config == "fast" {
				a.done(outcome{})
			}
		}
	}
	entry := r.objects[keyOf(task)]
	slow, fast := entry.deliveries["slow"], entry.deliveries["fast"]
	if len(slow.queue) != maxQueued || slow.queue[0].state != "input-required/0" || slow.queue[maxQueued-1].state != "input-required/99" {
		t.Errorf("the slow receiver has %v", slow.queue)
	}
	if fast.done.State != "input-required/99" && len(fast.queue) > 1 {
		t.Errorf("the fast receiver has %v", fast.queue)
	}
	for i := range 50 {
		r.show(makeTask("hostile", fmt.Sprint(i)), "working", "a")
	}
	hanging := r.take()
	if len(hanging) != maxPerNamespace {
		t.Errorf("%d attempts for one namespace", len(hanging))
	}
	if next := r.show(makeTask("hostile", "49"), "working", "a"); next.after != slotDelay {
		t.Errorf("a task without a slot waits %s", next.after)
	}
	r.show(makeTask("other", "task"), "working", "a")
	if got := r.take(); len(got) != 1 || got[0].task.Namespace != "other" {
		t.Errorf("another namespace: %v", got)
	}
	hanging[0].done(outcome{failure: "no answer"})
	r.show(makeTask("hostile", "49"), "working", "a")
	if got := r.take(); len(got) != 1 {
		t.Errorf("a free slot was used by %v", got)
	}
}

// TestDeletedWhileSending ends an attempt after its configuration, and its task, are gone.
func TestDeletedWhileSending(t *testing.T) {
	r, task := newRecorder(), makeTask("team", "task")
	r.show(task, "working", "a", "b")
	open := r.take()
	r.show(task, "working", "b")
	r.forget(keyOf(task))
	for _, a := range open {
		a.done(outcome{})
	}
	if r.inFlight != 0 || len(r.perNamespace) != 0 || len(r.objects) != 0 {
		t.Errorf("left: %d attempts, %v, %v", r.inFlight, r.perNamespace, r.objects)
	}
	again := makeTask("team", "task")
	again.UID = "created again"
	r.show(again, "working", "b")
	if len(r.take()) != 1 {
		t.Error("a task with the same name was not notified")
	}
}
