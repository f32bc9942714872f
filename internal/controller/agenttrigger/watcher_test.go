// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/evaluation"
	"github.com/nestor-dev/nestor/internal/trigger"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

func newWatcher(t *testing.T, when string) (*watcher, *int, *[]error) {
	t.Helper()
	program, err := trigger.Compile(v1beta1.AgentTriggerSpec{
		Watch: &v1beta1.TriggerWatch{When: when, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Task:  &v1beta1.TriggerTask{Role: "r", Instruction: "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	wakes, failures := 0, []error{}
	return &watcher{name: theTrigger, program: program, evaluations: newEvaluator(), wake: func() { wakes++ }, failed: func(err error) { failures = append(failures, err) },
		isTrue: map[string]bool{}, wasFalse: map[string]bool{}, undecided: map[string]bool{}}, &wakes, &failures
}

func pod(uid string, version int, state, app string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": uid, "uid": uid, "resourceVersion": fmt.Sprint(version), "labels": map[string]any{"app": app}},
		"state":    state,
	}}
}

func TestOnlyARisingEdgeFires(t *testing.T) {
	w, wakes, _ := newWatcher(t, "object.state == 'bad'")
	hash := trigger.Hash("a")
	w.OnAdd(pod("a", 1, "good", "web"), true)
	w.OnUpdate(pod("a", 1, "good", "web"), pod("a", 2, "bad", "web"))
	w.OnUpdate(pod("a", 2, "bad", "web"), pod("a", 3, "bad", "web"))
	w.OnAdd(pod("b", 4, "bad", "other"), false) // not selected
	if *wakes != 1 || len(w.candidates) != 1 {
		t.Fatalf("%d wakes, %d candidates", *wakes, len(w.candidates))
	}
	f, _ := w.next()
	if f.ID != "oa-2" || f.Object != hash || f.Rearmed || f.Input.OldObject["state"] != "good" {
		t.Errorf("%+v", f)
	}
	if released := w.released([]string{hash}); len(released) != 0 {
		t.Errorf("released while it is true: %v", released)
	}
	w.done(f)
	w.OnUpdate(pod("a", 3, "bad", "web"), pod("a", 4, "good", "web"))
	if released := w.released([]string{hash, "unknown"}); !released[hash] || !released["unknown"] {
		t.Errorf("released: %v", released)
	}
	w.OnUpdate(pod("a", 4, "good", "web"), pod("a", 5, "bad", "web"))
	if f, found := w.next(); !found || f.ID != "oa-5" || !f.Rearmed {
		t.Errorf("it does not fire again: %+v", f)
	}
	w.OnUpdate(pod("a", 5, "bad", "web"), pod("a", 6, "good", "web"))
	if released := w.released([]string{hash}); len(released) != 0 {
		t.Error("released although a firing waits")
	}
	w.done(f)
	w.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: pod("a", 6, "good", "web")})
	// An object that was deleted and created again while the watch was interrupted appears as one update.
	w.OnUpdate(pod("a", 6, "good", "web"), pod("c", 7, "bad", "web"))
	if f := w.candidates[len(w.candidates)-1].firing; f.Object != trigger.Hash("c") || f.Input.OldObject != nil {
		t.Errorf("%+v", f)
	}
}

func TestADeletedObjectIsReleased(t *testing.T) {
	w, _, _ := newWatcher(t, "true")
	w.OnAdd(pod("a", 1, "", "web"), false)
	f, _ := w.next()
	w.done(f)
	w.OnDelete(pod("a", 1, "", "web"))
	if released := w.released([]string{f.Object}); !released[f.Object] {
		t.Error("it stays latched")
	}
}

func TestAFailingConditionIsFalse(t *testing.T) {
	w, _, failures := newWatcher(t, "object.status.phase == 'Failed'")
	w.OnAdd(pod("a", 1, "", "web"), false)
	if len(*failures) != 1 || len(w.candidates) != 0 {
		t.Errorf("%v, %d candidates", *failures, len(w.candidates))
	}
}

// An evaluation that takes too long must not make an object fire again, neither one that this process has evaluated
// before nor one that an earlier process has recorded.
func TestLateEvaluationIsNotFalse(t *testing.T) {
	w, wakes, failures := newWatcher(t, "[1, 2, 3].all(n, n > 0) && object.state == 'bad'") // loops are interrupted
	a, b := trigger.Hash("a"), trigger.Hash("b")
	w.OnAdd(pod("a", 1, "bad", "web"), false)
	f, _ := w.next()
	w.done(f)
	w.evaluations.slots = evaluation.NewSlots(-1)
	w.OnUpdate(pod("a", 1, "bad", "web"), pod("a", 2, "bad", "web"))
	w.OnAdd(pod("b", 3, "bad", "web"), true)
	if released := w.released([]string{a, b}); len(released) != 0 || len(*failures) != 2 {
		t.Errorf("released: %v, failures: %v", released, *failures)
	}
	w.evaluations.slots = evaluation.NewSlots(expr.Timeout)
	w.OnUpdate(pod("a", 2, "bad", "web"), pod("a", 4, "bad", "web"))
	if len(w.candidates) != 0 || *wakes != 1 {
		t.Errorf("it fires again: %+v, %d wakes", w.candidates, *wakes)
	}
	w.OnUpdate(pod("b", 3, "bad", "web"), pod("b", 5, "good", "web"))
	if released := w.released([]string{a, b}); released[a] || !released[b] {
		t.Errorf("released: %v", released)
	}
}

// The condition becomes true again while a firing is recorded: the second time fires too, unless the first is not
// decided yet.
func TestEdgeWhileFiringIsRecorded(t *testing.T) {
	w, _, _ := newWatcher(t, "object.state == 'bad'")
	flap := func(version int) {
		w.OnUpdate(pod("a", version, "bad", "web"), pod("a", version+1, "good", "web"))
		w.OnUpdate(pod("a", version+1, "good", "web"), pod("a", version+2, "bad", "web"))
	}
	w.OnAdd(pod("a", 1, "bad", "web"), false)
	w.next() // it has to wait
	flap(1)
	first, _ := w.next()
	if first.ID != "oa-1" || !first.Rearmed {
		t.Errorf("the firing that waits: %+v", first)
	}
	flap(3)
	w.done(first)
	second, found := w.next()
	if !found || second.ID != "oa-5" || !second.Rearmed {
		t.Fatalf("the edge was lost: %+v", w.candidates)
	}
	w.done(second)
	if _, found := w.next(); found {
		t.Errorf("it fires a third time: %+v", w.candidates)
	}
}

func TestExpiredWatcherRestarts(t *testing.T) {
	w, _, _ := newWatcher(t, "true")
	for i := range maxCandidates + 1 {
		w.OnAdd(pod(fmt.Sprint(i), i, "", "web"), false)
	}
	if len(w.candidates) != maxCandidates || w.isOutdated() {
		t.Errorf("%d candidates, outdated %t", len(w.candidates), w.isOutdated())
	}
	for f, found := w.next(); found; f, found = w.next() {
		w.done(f)
	}
	if !w.isOutdated() {
		t.Error("the objects beyond the bound are lost")
	}
	w, _, _ = newWatcher(t, "true")
	w.OnAdd(pod("a", 1, "", "web"), false)
	if w.isOutdated() {
		t.Error("outdated at once")
	}
	w.candidates[0].since = w.candidates[0].since.Add(-maxAge - 1)
	if !w.isOutdated() {
		t.Error("an old firing is not given up")
	}
}
