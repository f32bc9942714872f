// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentevaluation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/suite"
)

// trials remembers the trials of evaluations in progress, so that each history is read once. A trial depends on the task and on the
// generation of the evaluation only.
type trials struct {
	mu   sync.Mutex
	kept map[types.NamespacedName]map[trialKey]suite.Trial
}

type trialKey struct {
	evaluation, task types.UID
	generation       int64
}

func (t *trials) get(name types.NamespacedName, key trialKey) (suite.Trial, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	trial, ok := t.kept[name][key]
	return trial, ok
}

func (t *trials) put(name types.NamespacedName, key trialKey, trial suite.Trial) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept = map[types.NamespacedName]map[trialKey]suite.Trial{}
	}
	if t.kept[name] == nil {
		t.kept[name] = map[trialKey]suite.Trial{}
	}
	t.kept[name][key] = trial
}

func (t *trials) forget(name types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.kept, name)
}

// trialOf judges a task that has ended.
func (r *Reconciler) trialOf(ctx context.Context, e *v1beta1.AgentEvaluation, w wanted, task *v1beta1.AgentTask, compiled *suite.Suite) (suite.Trial, error) {
	name, key := client.ObjectKeyFromObject(e), trialKey{e.UID, task.UID, e.Generation}
	if trial, ok := r.trials.get(name, key); ok {
		return trial, nil
	}
	trial, err := r.judge(ctx, w, task, compiled)
	if err != nil {
		return trial, fmt.Errorf("judge the task %s/%s: %w", task.Namespace, task.Name, err)
	}
	r.trials.put(name, key, trial)
	return trial, nil
}

func (r *Reconciler) judge(ctx context.Context, w wanted, task *v1beta1.AgentTask, compiled *suite.Suite) (suite.Trial, error) {
	sub, err := r.runOf(ctx, task)
	if err != nil {
		return suite.Trial{}, err
	}
	if sub == nil || task.Status.RoleRevision == "" { // it never began
		message := "it has no run"
		if task.Status.Error != nil {
			message = fmt.Sprintf("%s: %s", task.Status.Error.Kind, task.Status.Error.Message)
		}
		return suite.Inconclusive(task.Name, message), nil
	}
	if got := task.Status.RoleRevision; got != w.revision {
		return suite.Inconclusive(task.Name, fmt.Sprintf("It ran with the revision %s: the ControllerRevision of %s is missing.", got, w.revision)), nil
	}
	run, ok, err := r.read(ctx, string(sub.UID), task)
	if err != nil {
		return suite.Trial{}, err
	}
	if !ok {
		return suite.Inconclusive(task.Name, "The history of its run cannot be read."), nil
	}
	var trial suite.Trial
	err = r.slots.Run(ctx, task.Namespace, func(ctx context.Context) error {
		trial, err = compiled.Check(ctx, w.run.Case, task.Name, run)
		return err
	})
	return trial, err
}

// read reads the history of a run that has ended. It reports false if the history is lost.
func (r *Reconciler) read(ctx context.Context, uid string, task *v1beta1.AgentTask) (suite.Run, bool, error) {
	var reader suite.Reader
	var state agent.State
	for after := int64(0); ; {
		page, err := r.Ledger.Events(ctx, uid, after, ledger.MaxLimit)
		if errors.Is(err, ledger.ErrNotFound) {
			return suite.Run{}, false, nil
		}
		if err != nil {
			return suite.Run{}, false, fmt.Errorf("read the history of %s: %w", uid, err)
		}
		if len(page) == 0 {
			break
		}
		for _, row := range page {
			next, event, err := agent.DecodeAndApply(state, row.Data)
			if err != nil {
				return suite.Run{}, false, nil //nolint:nilerr // the trial has a message about it
			}
			state = next
			reader.Read(event)
		}
		after += int64(len(page))
	}
	if state.Outcome == nil {
		return suite.Run{}, false, nil
	}
	outcome := *state.Outcome
	outcome.Iterations, outcome.Duration = cmp.Or(outcome.Iterations, state.Iterations), cmp.Or(outcome.Duration, durationOf(task))
	if len(outcome.Labels) == 0 {
		outcome.Labels = state.LabelNames()
	}
	return reader.Run(outcome, task.Status.Usage), true, nil
}

// durationOf returns how long a task took.
func durationOf(task *v1beta1.AgentTask) agent.Millis {
	if task.Status.StartTime == nil || task.Status.CompletionTime == nil {
		return 0
	}
	return agent.Millis(task.Status.CompletionTime.Sub(task.Status.StartTime.Time).Milliseconds())
}
