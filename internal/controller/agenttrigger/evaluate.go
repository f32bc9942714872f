// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// maxPerNamespace bounds the evaluations for triggers of one namespace that run at the same time.
const maxPerNamespace = 2

// Evaluator evaluates the expressions of triggers. Each evaluation has a deadline, and those of one namespace do not
// delay those of others. Reconciles do not wait: their evaluations run in the background, one for each trigger.
type Evaluator struct {
	wake  func(types.NamespacedName)
	spawn func(func())
	// timeout limits an evaluation.
	timeout time.Duration

	mu sync.Mutex
	// slots are taken by the evaluations of a namespace. They stay: there are few namespaces.
	slots      map[string]chan struct{}
	background map[types.NamespacedName]*evaluation
	compiling  map[types.NamespacedName]bool
}

type evaluation struct {
	uid        types.UID
	generation int64
	firing     string
	done       bool
	result     result
}

func (e *evaluation) isFor(wanted *evaluation) bool {
	return e.uid == wanted.uid && e.generation == wanted.generation && e.firing == wanted.firing
}

// result is what the expressions of a trigger result in.
type result struct {
	matches bool
	work    trigger.Work
	err     error
}

// NewEvaluator returns an evaluator. Wake reconciles a trigger whose evaluation has ended.
func NewEvaluator(wake func(types.NamespacedName)) *Evaluator {
	return &Evaluator{
		wake: wake, spawn: func(f func()) { go f() }, timeout: expr.Timeout,
		slots: map[string]chan struct{}{}, background: map[types.NamespacedName]*evaluation{},
		compiling: map[types.NamespacedName]bool{},
	}
}

// run calls a function that evaluates expressions of a trigger. The context that it gets ends after the time that they
// may take.
func (e *Evaluator) run(ctx context.Context, namespace string, evaluate func(context.Context) error) error {
	e.mu.Lock()
	slot, ok := e.slots[namespace]
	if !ok {
		slot = make(chan struct{}, maxPerNamespace)
		e.slots[namespace] = slot
	}
	e.mu.Unlock()
	select {
	case slot <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for other evaluations of the namespace: %w", ctx.Err())
	}
	defer func() { <-slot }()
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	return evaluate(ctx)
}

// now evaluates the expressions of a trigger for a firing.
func (e *Evaluator) now(ctx context.Context, namespace string, program *trigger.Program, f trigger.Firing) result {
	var out result
	out.err = e.run(ctx, namespace, func(ctx context.Context) (err error) {
		if out.matches, err = program.Matches(ctx, f); err != nil || !out.matches {
			return err
		}
		if out.work.Key, err = program.Key(ctx, f); err != nil {
			return err
		}
		out.work.Kind, out.work.Target, err = program.Render(ctx, f)
		return err
	})
	return out
}

// later returns the result for a firing, or starts the evaluation and reports false. The trigger is reconciled again
// when it has ended.
func (e *Evaluator) later(t *v1beta1.AgentTrigger, program *trigger.Program, f trigger.Firing) (result, bool) {
	name := client.ObjectKeyFromObject(t)
	wanted := &evaluation{uid: t.UID, generation: t.Generation, firing: f.ID}
	if known, exists := e.take(name, wanted); exists {
		return known.result, known.done
	}
	e.spawn(func() {
		out := e.now(context.Background(), name.Namespace, program, f)
		e.mu.Lock()
		wanted.result, wanted.done = out, true // the map may have that of another trigger with the name by now
		e.mu.Unlock()
		e.wake(name)
	})
	known, _ := e.take(name, wanted)
	return known.result, known.done
}

// compiled reports whether the spec of a trigger is compiled. If it is not, it is compiled in the background: that can
// take seconds and cannot be interrupted. The trigger is reconciled again when it has ended.
func (e *Evaluator) compiled(p *programs, t *v1beta1.AgentTrigger) bool {
	name := client.ObjectKeyFromObject(t)
	e.mu.Lock()
	start := !p.has(t) && !e.compiling[name]
	if start {
		e.compiling[name] = true
	}
	e.mu.Unlock()
	if start {
		t = t.DeepCopy()
		e.spawn(func() {
			// The programs keep the error, and the context never ends.
			_ = e.run(context.Background(), name.Namespace, func(context.Context) error {
				_, err := p.of(t)
				return err
			})
			e.mu.Lock()
			delete(e.compiling, name)
			e.mu.Unlock()
			e.wake(name)
		})
	}
	return p.has(t)
}

// forget drops the evaluation of a deleted trigger.
func (e *Evaluator) forget(name types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.background, name)
}

// take returns the evaluation of a trigger that runs, or the one that is wanted, which it removes. If there is none, it
// adds the wanted one.
func (e *Evaluator) take(name types.NamespacedName, wanted *evaluation) (evaluation, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	result := e.background[name]
	if result == nil || result.done && !result.isFor(wanted) {
		e.background[name] = wanted
		return evaluation{}, false
	}
	if result.done {
		delete(e.background, name)
	}
	return evaluation{result: result.result, done: result.done}, true
}
