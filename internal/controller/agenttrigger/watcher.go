// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/nestor-dev/nestor/internal/trigger"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

const (
	// maxCandidates bounds the firings of a trigger that wait in memory.
	maxCandidates = 1000
	// maxAge is how old a waiting firing may be. Another operator may have owned the trigger since; ids are remembered
	// longer than this.
	maxAge = 10 * time.Minute
)

// watcher evaluates the condition of a trigger for the objects that it watches.
type watcher struct {
	name        types.NamespacedName
	uid         types.UID
	generation  int64
	program     *trigger.Program
	evaluations *Evaluator
	// wake reconciles the trigger, failed is called with the error of an evaluation.
	wake   func()
	failed func(error)

	registration toolscache.ResourceEventHandlerRegistration
	source       *source

	mu sync.Mutex
	// isTrue are the hashes of the objects for which the condition is true, wasFalse those for which it was false after it
	// was true.
	isTrue, wasFalse map[string]bool
	// undecided are those whose newest evaluation took too long. What was true for them before stays.
	undecided  map[string]bool
	candidates []candidate
	overflow   bool
}

// candidate is an object for which the condition has become true.
type candidate struct {
	firing trigger.Firing
	since  time.Time
	// again is the newest firing of the object since next returned this one, which may be decided already.
	again *candidate
}

func (w *watcher) OnAdd(object any, _ bool) { w.changed(nil, object) }

func (w *watcher) OnUpdate(before, object any) { w.changed(before, object) }

func (w *watcher) OnDelete(object any) {
	if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if deleted, ok := object.(*unstructured.Unstructured); ok {
		w.set(trigger.Firing{Object: trigger.Hash(string(deleted.GetUID()))}, false)
	}
}

// changed evaluates the condition for an object.
func (w *watcher) changed(before, after any) {
	now, ok := after.(*unstructured.Unstructured)
	if !ok {
		return
	}
	f := trigger.Firing{
		ID: trigger.ObjectID(now.GetUID(), now.GetResourceVersion()), Time: time.Now(), Object: trigger.Hash(string(now.GetUID())),
		Input: expr.Input{Object: now.Object},
	}
	if old, ok := before.(*unstructured.Unstructured); ok && old.GetUID() == now.GetUID() {
		f.Input.OldObject = old.Object
	}
	f.FillTrigger(w.name)
	matches, late := false, false
	if w.program.Selector.Matches(labels.Set(now.GetLabels())) {
		err := w.evaluations.slots.Run(context.Background(), w.name.Namespace, func(ctx context.Context) (err error) {
			matches, err = w.program.Matches(ctx, f)
			late = err != nil && ctx.Err() != nil
			return err
		})
		if err != nil {
			w.failed(err)
		}
	}
	if late { // the operator was busy; an object that counted as false now would fire again
		w.keep(f.Object)
		return
	}
	w.set(f, matches)
}

// keep leaves the condition of an object as it is.
func (w *watcher) keep(object string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.undecided[object] = true
}

// set records the condition of an object, and queues a firing if it has become true.
func (w *watcher) set(f trigger.Firing, matches bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.isTrue[f.Object]
	delete(w.undecided, f.Object)
	switch {
	case matches && !was:
		w.isTrue[f.Object] = true
		f.Rearmed = w.wasFalse[f.Object]
		delete(w.wasFalse, f.Object)
		w.queue(f)
	case !matches && was:
		delete(w.isTrue, f.Object)
		w.wasFalse[f.Object] = true
	default:
		return
	}
	w.wake()
}

// queue adds a firing. If one for the same object waits, that one counts for both. mu is locked.
func (w *watcher) queue(f trigger.Firing) {
	same := func(c candidate) bool { return c.firing.Object == f.Object }
	if i := slices.IndexFunc(w.candidates, same); i >= 0 {
		w.candidates[i].firing.Rearmed = w.candidates[i].firing.Rearmed || f.Rearmed
		w.candidates[i].again = &candidate{firing: f, since: time.Now()}
		return
	}
	if len(w.candidates) >= maxCandidates {
		w.overflow = true
		return
	}
	w.candidates = append(w.candidates, candidate{firing: f, since: time.Now()})
}

// next returns the first firing that waits.
func (w *watcher) next() (trigger.Firing, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.candidates) == 0 {
		return trigger.Firing{}, false
	}
	w.candidates[0].again = nil // it counts for the firings until now
	return w.candidates[0].firing, true
}

// done removes a firing that was decided. The object's firing since then takes its place.
func (w *watcher) done(f trigger.Firing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.candidates, func(c candidate) bool { return c.firing.ID == f.ID })
	if i < 0 {
		return
	}
	again := w.candidates[i].again
	w.candidates = slices.Delete(w.candidates, i, i+1)
	if again != nil {
		w.candidates = append(w.candidates, *again)
	}
}

// isOutdated reports whether the watcher has lost track and must start again: firings waited for too long, or there
// were too many.
func (w *watcher) isOutdated() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.overflow && len(w.candidates) == 0 || len(w.candidates) > 0 && time.Since(w.candidates[0].since) > maxAge
}

// released returns those of the latched objects for which the condition is no longer true, and for which no firing
// waits.
func (w *watcher) released(latched []string) map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]bool{}
	for _, hash := range latched {
		waits := slices.ContainsFunc(w.candidates, func(c candidate) bool { return c.firing.Object == hash })
		if !w.isTrue[hash] && !waits && !w.undecided[hash] {
			out[hash] = true
		}
	}
	return out
}

// unlatched removes the conditions of objects that were unlatched.
func (w *watcher) unlatched(objects map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for hash := range objects {
		delete(w.wasFalse, hash)
	}
}
