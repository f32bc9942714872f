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
	"github.com/nestor-dev/nestor/internal/trigger"
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
		isTrue: map[string]bool{}, wasFalse: map[string]bool{}}, &wakes, &failures
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
