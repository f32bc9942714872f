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
	"github.com/nestor-dev/nestor/internal/recording"
	"github.com/nestor-dev/nestor/internal/suite"
)

// checked is what a task that has ended shows so far.
type checked struct {
	trial suite.Trial
	// question is what the judge has to be asked first; empty if the trial is final. labels are the content labels of the run.
	question string
	labels   []string
}

// trials remembers the trials of evaluations in progress, so that each history is not read more often than needed. A trial depends on the
// task, on that of the judge and on the generation of the evaluation only.
type trials struct {
	mu   sync.Mutex
	kept map[types.NamespacedName]map[trialKey]checked
}

type trialKey struct {
	evaluation, task, judge types.UID
	generation              int64
}

func (t *trials) get(name types.NamespacedName, key trialKey) (checked, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.kept[name][key]
	return c, ok
}

func (t *trials) put(name types.NamespacedName, key trialKey, c checked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept = map[types.NamespacedName]map[trialKey]checked{}
	}
	if t.kept[name] == nil {
		t.kept[name] = map[trialKey]checked{}
	}
	t.kept[name][key] = c
	if asked := key; key.judge != "" { // the question is answered
		asked.judge = ""
		delete(t.kept[name], asked)
	}
}

func (t *trials) forget(name types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.kept, name)
}

// trialOf checks a task that has ended. The judge's task is nil until it has ended.
func (r *Reconciler) trialOf(ctx context.Context, e *v1beta1.AgentEvaluation, w wanted, task, judge *v1beta1.AgentTask, compiled *suite.Suite) (checked, error) {
	name, key := client.ObjectKeyFromObject(e), trialKey{evaluation: e.UID, task: task.UID, generation: e.Generation}
	if judge != nil {
		key.judge = judge.UID
	}
	if c, ok := r.trials.get(name, key); ok {
		return c, nil
	}
	c, err := r.check(ctx, e, w, task, judge, compiled)
	if err != nil {
		return c, fmt.Errorf("check the task %s/%s: %w", task.Namespace, task.Name, err)
	}
	r.trials.put(name, key, c)
	return c, nil
}

// check checks a task.
func (r *Reconciler) check(ctx context.Context, e *v1beta1.AgentEvaluation, w wanted, task, judge *v1beta1.AgentTask, compiled *suite.Suite) (checked, error) {
	final := func(message string) (checked, error) {
		return checked{trial: suite.Inconclusive(task.Name, message)}, nil
	}
	sub, err := r.runOf(ctx, task)
	if err != nil {
		return checked{}, err
	}
	if sub == nil || task.Status.RoleRevision == "" { // it never began
		if task.Status.Error != nil {
			return final(fmt.Sprintf("%s: %s", task.Status.Error.Kind, task.Status.Error.Message))
		}
		return final("it has no run")
	}
	if got := task.Status.RoleRevision; got != w.revision {
		return final(fmt.Sprintf("It ran with the revision %s: the ControllerRevision of %s is missing.", got, w.revision))
	}
	run, ok, err := r.read(ctx, string(sub.UID), task)
	if err != nil {
		return checked{}, err
	}
	if !ok {
		return final("The history of its run cannot be read.")
	}
	var c checked
	err = r.slots.Run(ctx, task.Namespace, func(ctx context.Context) error {
		c.trial, err = compiled.Check(ctx, w.run.Case, task.Name, run)
		if err != nil || c.trial.Outcome != suite.TrialPassed || !compiled.Asks(w.run.Case) {
			return err
		}
		if judge == nil {
			c.question, c.labels = run.Question(), run.Outcome.Labels
			return nil
		}
		data, problem := judgment(e, judge)
		if problem != "" {
			c.trial = c.trial.Inconclusive(problem)
			return nil
		}
		c.trial, err = compiled.CheckJudged(ctx, w.run.Case, c.trial, run, data)
		return err
	})
	return c, err
}

// read reads the history of a run that has ended. It reports false if the history is lost.
func (r *Reconciler) read(ctx context.Context, uid string, task *v1beta1.AgentTask) (suite.Run, bool, error) {
	var reader suite.Reader
	var state agent.State
	err := recording.Read(ctx, r.Ledger, uid, func(e agent.Event, s agent.State) {
		reader.Read(e)
		state = s
	})
	switch {
	case errors.Is(err, ledger.ErrNotFound) || errors.Is(err, recording.ErrUnreadable):
		return suite.Run{}, false, nil
	case err != nil:
		return suite.Run{}, false, err
	}
	if state.Outcome == nil {
		return suite.Run{}, false, nil
	}
	outcome := *state.Outcome
	outcome.Iterations, outcome.Duration = cmp.Or(outcome.Iterations, state.Iterations), cmp.Or(outcome.Duration, durationOf(task))
	if len(outcome.Labels) == 0 {
		outcome.Labels = state.LabelNames()
	}
	return reader.Run(state.Config.Task, outcome, task.Status.Usage), true, nil
}

// durationOf returns how long a task took.
func durationOf(task *v1beta1.AgentTask) agent.Millis {
	if task.Status.StartTime == nil || task.Status.CompletionTime == nil {
		return 0
	}
	return agent.Millis(task.Status.CompletionTime.Sub(task.Status.StartTime.Time).Milliseconds())
}
