// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/evaluation"
	"github.com/nestor-dev/nestor/internal/trigger"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
	"github.com/nestor-dev/nestor/internal/validation"
)

// Evaluator evaluates the expressions of triggers. Each evaluation has a deadline, and those of one namespace do not
// delay those of others. Reconciles do not wait: their evaluations run in the background, one for each trigger.
type Evaluator struct {
	wake     func(types.NamespacedName)
	slots    *evaluation.Slots
	programs *evaluation.Programs[*v1beta1.AgentTrigger, *trigger.Program]

	mu         sync.Mutex
	background map[types.NamespacedName]*pending
}

// pending is an evaluation in the background.
type pending struct {
	uid        types.UID
	generation int64
	firing     string
	done       bool
	result     result
}

func (e *pending) isFor(wanted *pending) bool {
	return e.uid == wanted.uid && e.generation == wanted.generation && e.firing == wanted.firing
}

// result is the result of the expressions of a trigger.
type result struct {
	matches bool
	work    trigger.Work
	err     error
}

// NewEvaluator returns an evaluator. Wake reconciles a trigger whose evaluation or compilation has ended.
func NewEvaluator(wake func(types.NamespacedName)) *Evaluator {
	slots := evaluation.NewSlots(expr.Timeout)
	compile := func(t *v1beta1.AgentTrigger) (*trigger.Program, error) {
		return validation.CheckTrigger(*t.Spec.DeepCopy())
	}
	return &Evaluator{
		wake: wake, slots: slots, programs: evaluation.NewPrograms(slots, compile, wake),
		background: map[types.NamespacedName]*pending{},
	}
}

func (e *Evaluator) now(ctx context.Context, namespace string, program *trigger.Program, f trigger.Firing) result {
	var out result
	out.err = e.slots.Run(ctx, namespace, func(ctx context.Context) (err error) {
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
	wanted := &pending{uid: t.UID, generation: t.Generation, firing: f.ID}
	if known, exists := e.take(name, wanted); exists {
		return known.result, known.done
	}
	e.slots.Spawn(func() {
		out := e.now(context.Background(), name.Namespace, program, f)
		e.mu.Lock()
		wanted.result, wanted.done = out, true // the map may have that of another trigger with the name by now
		e.mu.Unlock()
		e.wake(name)
	})
	known, _ := e.take(name, wanted)
	return known.result, known.done
}

// compiled reports whether the spec of a trigger is compiled. If it is not, it is compiled in the background, and the
// trigger is reconciled again when that has ended.
func (e *Evaluator) compiled(t *v1beta1.AgentTrigger) bool {
	if _, known, _ := e.programs.Get(t); known {
		return true
	}
	e.programs.Later(t.DeepCopy())
	_, known, _ := e.programs.Get(t) // a quick one is known at once
	return known
}

// forget drops the program and the evaluation of a deleted trigger.
func (e *Evaluator) forget(name types.NamespacedName) {
	e.programs.Remove(name)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.background, name)
}

// take returns the evaluation of a trigger that runs, or the one that is wanted, which it removes. If there is none, it
// adds the wanted one.
func (e *Evaluator) take(name types.NamespacedName, wanted *pending) (pending, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	result := e.background[name]
	if result == nil || result.done && !result.isFor(wanted) {
		e.background[name] = wanted
		return pending{}, false
	}
	if result.done {
		delete(e.background, name)
	}
	return pending{result: result.result, done: result.done}, true
}
