// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/evaluation"
	"github.com/nestor-dev/nestor/internal/trigger"
)

// block takes all slots of a namespace until release is called.
func block(t *testing.T, e *Evaluator, namespace string) (release func()) {
	t.Helper()
	blocked, ended := make(chan struct{}), make(chan struct{})
	taken := make(chan struct{}, evaluation.PerNamespace)
	for range evaluation.PerNamespace {
		go func() {
			_ = e.slots.Run(t.Context(), namespace, func(context.Context) error {
				taken <- struct{}{}
				<-blocked
				return nil
			})
			ended <- struct{}{}
		}()
	}
	for range evaluation.PerNamespace {
		<-taken
	}
	return func() {
		close(blocked)
		for range evaluation.PerNamespace {
			<-ended
		}
	}
}

func isCompiled(e *Evaluator, t *v1beta1.AgentTrigger) bool {
	_, known, _ := e.programs.Get(t)
	return known
}

func program(t *testing.T, of *v1beta1.AgentTrigger) *trigger.Program {
	t.Helper()
	p, err := trigger.Compile(of.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestReconcilesDoNotWait has a namespace whose evaluations do not end. Those of other namespaces do, and a reconcile
// continues without its result until the trigger is woken.
func TestReconcilesDoNotWait(t *testing.T) {
	woken := make(chan types.NamespacedName, 1)
	e := NewEvaluator(func(name types.NamespacedName) { woken <- name })
	of := nightly(v1beta1.ConcurrencyAllow)
	f := trigger.Firing{ID: "s1"}
	f.FillTrigger(theTrigger)
	release := block(t, e, of.Namespace)
	if _, known := e.later(of, program(t, of), f); known {
		t.Fatal("the result is known before the evaluation")
	}
	if _, known := e.later(of, program(t, of), trigger.Firing{ID: "s2"}); known {
		t.Fatal("another firing got the result")
	}
	if other := e.now(t.Context(), "other", program(t, of), f); other.err != nil || !other.matches {
		t.Errorf("another namespace: %+v", other)
	}
	release()
	if name := <-woken; name != theTrigger {
		t.Errorf("%s was woken", name)
	}
	if out, known := e.later(of, program(t, of), f); !known || out.err != nil || !out.matches || len(out.work.Target) == 0 {
		t.Errorf("the result is %+v", out)
	}
	release = block(t, e, of.Namespace) // a quick evaluation is known at once
	if _, known := e.later(of, program(t, of), f); known {
		t.Error("a result was used twice")
	}
	release()
	<-woken
	release = block(t, e, of.Namespace)
	changed := of.DeepCopy()
	changed.Generation++
	if _, known := e.later(changed, program(t, of), f); known {
		t.Error("a result of another generation was used")
	}
	release()
	<-woken
}

// TestReconcilesDoNotCompile has a namespace whose evaluations do not end. Its triggers are compiled after that.
func TestReconcilesDoNotCompile(t *testing.T) {
	woken := make(chan types.NamespacedName, 1)
	e := NewEvaluator(func(name types.NamespacedName) { woken <- name })
	w := newWorld(t, 1, nightly(v1beta1.ConcurrencyAllow))
	r := w.operators[0].reconciler()
	recorder := r.Recorder
	recorder.Evaluations = e
	of := w.trigger()
	release := block(t, e, of.Namespace)
	for range 2 {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: theTrigger}); err != nil || isCompiled(e, of) {
			t.Fatalf("compiled in the reconcile: %v", err)
		}
	}
	release()
	if name := <-woken; name != theTrigger || !e.compiled(of) {
		t.Errorf("%s was woken, compiled: %t", name, isCompiled(e, of))
	}
	of.Generation++
	if isCompiled(e, of) {
		t.Error("the program of another generation was used")
	}
}

// TestCancelledRequestsAreNotDropped checks that a sender that gave up while its request waited can send it again.
func TestCancelledRequestsAreNotDropped(t *testing.T) {
	w := newWorld(t, 1, nightly(v1beta1.ConcurrencyAllow))
	r := w.operators[0].reconciler().Recorder
	release := block(t, r.Evaluations, theTrigger.Namespace)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out := r.Evaluations.now(ctx, theTrigger.Namespace, program(t, w.trigger()), trigger.Firing{}); !errors.Is(out.err, context.Canceled) {
		t.Errorf("got %+v", out)
	}
	decision, err := r.Fire(ctx, theTrigger, "", trigger.Firing{ID: "w1"})
	if err != nil || decision.Outcome != trigger.Wait || w.trigger().Status.Dropped != 0 {
		t.Errorf("%+v, %v", decision, err)
	}
}

// TestRecreatedTriggersAreEvaluatedAgain has an evaluation that ends after its trigger was deleted, while one for
// another trigger with the same name runs.
func TestRecreatedTriggersAreEvaluatedAgain(t *testing.T) {
	e := NewEvaluator(func(types.NamespacedName) {})
	var running []func()
	e.slots.Spawn = func(f func()) { running = append(running, f) }
	before := nightly(v1beta1.ConcurrencyAllow)
	before.UID = "before"
	after := before.DeepCopy()
	after.UID, after.Spec.User = "after", "somebody-else"
	f := trigger.Firing{ID: "s1"}
	f.FillTrigger(theTrigger)
	e.later(before, program(t, before), f)
	e.forget(theTrigger)
	e.later(after, program(t, after), f)
	running[0]()
	if out, known := e.later(after, program(t, after), f); known {
		t.Errorf("the trigger got the result of the deleted one: %s", out.work.Target)
	}
	running[1]()
	out, known := e.later(after, program(t, after), f)
	if !known || !strings.Contains(string(out.work.Target), "somebody-else") {
		t.Errorf("known %t: %s, %v", known, out.work.Target, out.err)
	}
}
