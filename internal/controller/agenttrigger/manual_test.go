// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"
	"encoding/json"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger"
)

// fireOnce requests a firing and lets the operator handle it. It returns the result that the operator left in an
// annotation, if any.
func fireOnce(w *world, request string) *fireResult {
	w.t.Helper()
	fired := w.trigger()
	if fired.Annotations == nil {
		fired.Annotations = map[string]string{}
	}
	fired.Annotations[v1beta1.AnnotationFire], fired.Annotations[v1beta1.AnnotationFireUser] = request, "jane"
	if err := w.server.Update(context.Background(), fired); err != nil {
		w.t.Fatal(err)
	}
	w.finish()
	after := w.trigger().Annotations
	if after[v1beta1.AnnotationFire] != "" || after[v1beta1.AnnotationFireUser] != "" {
		w.t.Fatalf("the request is still there: %v", after)
	}
	text, ok := after[v1beta1.AnnotationFireResult]
	if !ok {
		return nil
	}
	var result fireResult
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		w.t.Fatal(err)
	}
	return &result
}

// onRequests returns a trigger that fires only by hand: the condition and the key are those of a webhook.
func onRequests() *v1beta1.AgentTrigger {
	t := nightly(v1beta1.ConcurrencyAllow)
	t.Spec.Schedule = nil
	t.Spec.Webhook = &v1beta1.TriggerWebhook{When: "body.go == true", SecretKeyRef: v1beta1.SecretKeyRef{Name: "hook", Key: "token"}}
	t.Spec.DedupKey = "body.key"
	return t
}

func TestFireRequestHasResult(t *testing.T) {
	for _, test := range []struct {
		name, request string
		change        func(*v1beta1.AgentTrigger)
		want          trigger.Outcome
	}{
		{name: "no JSON", request: "yes", want: outcomeInvalid},
		{name: "no id", request: `{"body": {}}`, want: outcomeInvalid},
		{name: "condition", request: `{"id": "1", "body": {"go": false, "key": "b"}}`, want: trigger.NotMatched},
		{name: "key", request: `{"id": "1", "body": {"go": true, "key": "a"}}`, want: trigger.Duplicate},
		{name: "the same id", request: `{"id": "0", "body": {"go": true, "key": "b"}}`, want: ""},
		{name: "suspended", request: `{"id": "1", "body": {"go": true, "key": "b"}}`, want: trigger.Suspended, change: func(t *v1beta1.AgentTrigger) { t.Spec.Suspend = true }},
		{name: "does not compile", request: `{"id": "1"}`, want: outcomeInvalid, change: func(t *v1beta1.AgentTrigger) { t.Spec.DedupKey = "body." }},
		{name: "fires", request: `{"id": "1", "body": {"go": true, "key": "b"}}`, want: ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1, onRequests())
			if result := fireOnce(w, `{"id": "0", "body": {"go": true, "key": "a"}}`); result != nil || len(w.tasks()) != 1 {
				t.Fatalf("the first firing: %v, %d tasks", result, len(w.tasks()))
			}
			if test.change != nil {
				changed := w.trigger()
				test.change(changed)
				changed.Generation++
				if err := w.server.Update(t.Context(), changed); err != nil {
					t.Fatal(err)
				}
			}
			result := fireOnce(w, test.request)
			tasks := 1
			if test.name == "fires" {
				tasks = 2
			}
			if len(w.tasks()) != tasks {
				t.Errorf("%d tasks, want %d", len(w.tasks()), tasks)
			}
			switch {
			case test.want == "" && result != nil:
				t.Errorf("a result beside the status: %+v", result)
			case test.want != "" && (result == nil || result.Outcome != test.want || result.Message == ""):
				t.Errorf("got %+v, want %s", result, test.want)
			}
		})
	}
}

// TestRecordedRequestSurvivesCrash lets the operator crash between the record and the removal of the request.
func TestRecordedRequestSurvivesCrash(t *testing.T) {
	for crash := range 8 {
		w := newWorld(t, 1, onRequests())
		w.finish()
		fired := w.trigger()
		fired.Annotations = map[string]string{v1beta1.AnnotationFire: `{"id": "1", "body": {"go": true, "key": "a"}}`}
		if err := w.server.Update(t.Context(), fired); err != nil {
			t.Fatal(err)
		}
		o := w.operators[0]
		o.renew()
		o.start(func(r *Reconciler) {
			_, _ = r.Reconcile(context.Background(), ctrl.Request{NamespacedName: theTrigger})
		})
		for step := 0; o.busy; step++ {
			o.step(step == crash)
		}
		w.finish()
		after := w.trigger()
		if after.Annotations[v1beta1.AnnotationFire] != "" || after.Annotations[v1beta1.AnnotationFireResult] != "" || after.Status.Firings != 1 || len(w.tasks()) != 1 {
			t.Errorf("crash at request %d: %v, %d firings, %d tasks", crash, after.Annotations, after.Status.Firings, len(w.tasks()))
		}
	}
}
