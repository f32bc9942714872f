// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentevaluation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/suite"
)

const (
	// parallelTasks is the number of tasks of an evaluation that run at the same time. The limits of the model's provider hold as well.
	parallelTasks = 8
	// nameLength is the part of a task's name that is the name of the evaluation.
	nameLength = 40
)

// lanes are the revisions that do the work of a run.
const (
	laneBaseline  = "baseline"
	laneCandidate = "candidate"
)

// wanted is a task that must exist.
type wanted struct {
	name, lane, revision string
	run                  v1beta1.EvaluatedRun
}

// wantedTasks returns the tasks of the candidate that an evaluation is about, those of each run together.
func wantedTasks(e *v1beta1.AgentEvaluation) []wanted {
	s := e.Status
	if s.CandidateRevision == "" {
		return nil
	}
	var all []wanted
	for _, run := range s.Runs {
		for repeat := range ptr.Deref(e.Spec.Repeats, 1) {
			for _, w := range []wanted{{lane: laneBaseline, revision: s.BaselineRevision}, {lane: laneCandidate, revision: s.CandidateRevision}} {
				w.run = run
				w.name = taskName(e, s.CandidateRevision, s.BaselineRevision, run.Case, run.UID, fmt.Sprint(repeat), w.lane, string(e.Spec.ToolResults))
				all = append(all, w)
			}
		}
	}
	return all
}

// taskName returns the name of a task that follows from the evaluation and these parts.
func taskName(e *v1beta1.AgentEvaluation, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(e.UID)}, parts...), "\n")))
	return fmt.Sprintf("%s-%s", strings.TrimRight(e.Name[:min(len(e.Name), nameLength)], "-"), hex.EncodeToString(sum[:])[:20])
}

// slot is a run of one lane: its task, then that of the judge if the case has one, then its trial.
type slot struct {
	wanted
	// tasks is the number of its tasks, and ended how many of them have ended or are not needed.
	tasks, ended int32
	// trial is nil until the run has one. Until then, either a task runs, or the next one is missing.
	trial   *suite.Trial
	running bool
	missing *v1beta1.AgentTask
}

// slotOf returns what there is of a run, and removes its tasks from the own ones.
func (r *Reconciler) slotOf(ctx context.Context, e *v1beta1.AgentEvaluation, w wanted, own map[string]*v1beta1.AgentTask, compiled *suite.Suite) (slot, error) {
	s := slot{wanted: w, tasks: 1}
	judged := compiled.Asks(w.run.Case)
	if judged {
		s.tasks = 2
	}
	task := take(own, w.name)
	switch {
	case task == nil:
		s.missing = forkOf(e, w)
		return s, nil
	case !ended(task):
		s.running = true
		return s, nil
	}
	s.ended = 1
	var judge *v1beta1.AgentTask
	if judged {
		judge = take(own, judgeName(e, task))
	}
	if judge != nil && !ended(judge) {
		s.running = true
		return s, nil
	}
	checked, err := r.trialOf(ctx, e, w, task, judge, compiled)
	switch {
	case err != nil:
		return s, err
	case checked.question == "":
		s.trial, s.ended = &checked.trial, s.tasks
	default:
		s.missing = judgeTask(e, task, checked)
	}
	return s, nil
}

// take removes a task from a map and returns it; nil if it has none of that name.
func take(tasks map[string]*v1beta1.AgentTask, name string) *v1beta1.AgentTask {
	task := tasks[name]
	delete(tasks, name)
	return task
}

// advance deletes the tasks of earlier candidates, creates missing ones, and sets the verdict when all have ended.
func (r *Reconciler) advance(ctx context.Context, e *v1beta1.AgentEvaluation, compiled *suite.Suite) error {
	own, err := r.ownTasks(ctx, e)
	if err != nil {
		return err
	}
	var slots []slot
	running := 0
	for _, w := range wantedTasks(e) {
		s, err := r.slotOf(ctx, e, w, own, compiled)
		if err != nil {
			return err
		}
		if s.running {
			running++
		}
		slots = append(slots, s)
	}
	for _, old := range own {
		err := r.Client.Delete(ctx, old, client.Preconditions{UID: &old.UID})
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete the task %s/%s of an earlier candidate: %w", old.Namespace, old.Name, err)
		}
	}
	for i := range slots {
		s := &slots[i]
		if s.missing == nil || running >= parallelTasks {
			continue
		}
		taken, err := r.ensure(ctx, e, s.missing)
		if err != nil {
			return err
		}
		if taken {
			s.trial, s.ended = ptr.To(suite.Inconclusive(s.name, fmt.Sprintf("The name %s belongs to another task.", s.missing.Name))), s.tasks
			continue
		}
		running++
	}
	e.Status.CompletedTasks, e.Status.TotalTasks = 0, 0
	for _, s := range slots {
		e.Status.CompletedTasks += s.ended
		e.Status.TotalTasks += s.tasks
	}
	if len(slots) > 0 && !slices.ContainsFunc(slots, func(s slot) bool { return s.trial == nil }) {
		report(e, suite.Decide(e.Spec.Thresholds, casesOf(slots)))
	}
	return nil
}

// casesOf returns the trials of each run. All of them have ended.
func casesOf(slots []slot) []suite.Case {
	var cases []suite.Case
	for i, s := range slots {
		if i == 0 || slots[i-1].run != s.run {
			cases = append(cases, suite.Case{Name: s.run.Case, Task: s.run.Task})
		}
		c := &cases[len(cases)-1]
		if s.lane == laneBaseline {
			c.Baseline = append(c.Baseline, *s.trial)
		} else {
			c.Candidate = append(c.Candidate, *s.trial)
		}
	}
	return cases
}

// ownTasks returns the tasks that an evaluation has created, by name.
func (r *Reconciler) ownTasks(ctx context.Context, e *v1beta1.AgentEvaluation) (map[string]*v1beta1.AgentTask, error) {
	var list v1beta1.AgentTaskList
	if err := r.Client.List(ctx, &list, client.InNamespace(e.Namespace), client.MatchingLabels{v1beta1.LabelEvaluation: e.Name}); err != nil {
		return nil, fmt.Errorf("list the tasks of evaluation %s/%s: %w", e.Namespace, e.Name, err)
	}
	own := map[string]*v1beta1.AgentTask{}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], e) {
			own[list.Items[i].Name] = &list.Items[i]
		}
	}
	return own, nil
}

// forkOf returns the task of a run.
func forkOf(e *v1beta1.AgentEvaluation, w wanted) *v1beta1.AgentTask {
	return taskOf(e, w.name, v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskAgent, Role: e.Spec.Role,
		Fork: &v1beta1.TaskFork{
			UID: w.run.UID, SubAgent: w.run.SubAgent, Sequence: ptr.To[int64](0), ModelReplies: v1beta1.RepliesLive,
			ToolResults: v1beta1.ResultSource(e.Spec.ToolResults), RoleRevision: w.revision,
		},
	})
}

func taskOf(e *v1beta1.AgentEvaluation, name string, spec v1beta1.AgentTaskSpec) *v1beta1.AgentTask {
	return &v1beta1.AgentTask{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: name, Labels: map[string]string{v1beta1.LabelEvaluation: e.Name, v1beta1.LabelRole: spec.Role}},
		Spec:       spec,
	}
}

// ensure creates a task, unless it exists. It reports whether its name is taken.
func (r *Reconciler) ensure(ctx context.Context, e *v1beta1.AgentEvaluation, task *v1beta1.AgentTask) (taken bool, err error) {
	if err := controllerutil.SetControllerReference(e, task, r.Client.Scheme()); err != nil {
		return false, fmt.Errorf("own the task %s: %w", task.Name, err)
	}
	err = r.Client.Create(ctx, task)
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return false, fmt.Errorf("create the task %s/%s: %w", task.Namespace, task.Name, err)
		}
		r.Reached(AfterTrial)
		return false, nil
	}
	var existing v1beta1.AgentTask
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(task), &existing); err != nil {
		return false, fmt.Errorf("get the task %s/%s: %w", task.Namespace, task.Name, err)
	}
	return !metav1.IsControlledBy(&existing, e), nil
}
