// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentevaluation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
				key := strings.Join([]string{
					string(e.UID), s.CandidateRevision, s.BaselineRevision, run.Case, run.UID, fmt.Sprint(repeat), w.lane, string(e.Spec.ToolResults),
				}, "\n")
				sum := sha256.Sum256([]byte(key))
				w.name = fmt.Sprintf("%s-%s", strings.TrimRight(e.Name[:min(len(e.Name), nameLength)], "-"), hex.EncodeToString(sum[:])[:20])
				all = append(all, w)
			}
		}
	}
	return all
}

// advance deletes the tasks of earlier candidates, creates missing ones, and sets the verdict when all have ended.
func (r *Reconciler) advance(ctx context.Context, e *v1beta1.AgentEvaluation, compiled *suite.Suite) error {
	own, err := r.ownTasks(ctx, e)
	if err != nil {
		return err
	}
	all := wantedTasks(e)
	trials := make([]*suite.Trial, len(all))
	running, completed := 0, int32(0)
	for i, w := range all {
		task := own[w.name]
		delete(own, w.name)
		if task == nil {
			continue
		}
		if !ended(task) {
			running++
			continue
		}
		trial, err := r.trialOf(ctx, e, w, task, compiled)
		if err != nil {
			return err
		}
		trials[i] = &trial
		completed++
	}
	for _, old := range own {
		err := r.Client.Delete(ctx, old, client.Preconditions{UID: &old.UID})
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete the task %s/%s of an earlier candidate: %w", old.Namespace, old.Name, err)
		}
	}
	for i, w := range all {
		if trials[i] != nil || running >= parallelTasks {
			continue
		}
		taken, err := r.ensure(ctx, e, w)
		if err != nil {
			return err
		}
		if taken {
			trials[i] = ptr.To(suite.Inconclusive(w.name, fmt.Sprintf("The name %s belongs to another task.", w.name)))
			completed++
			continue
		}
		running++
	}
	e.Status.CompletedTasks, e.Status.TotalTasks = completed, int32(len(all))
	if len(all) > 0 && int(completed) == len(all) {
		report(e, suite.Judge(e.Spec.Thresholds, casesOf(all, trials)))
	}
	return nil
}

// casesOf returns the trials of each run. All of them have ended.
func casesOf(all []wanted, trials []*suite.Trial) []suite.Case {
	var cases []suite.Case
	for i, w := range all {
		if i == 0 || all[i-1].run != w.run {
			cases = append(cases, suite.Case{Name: w.run.Case, Task: w.run.Task})
		}
		c := &cases[len(cases)-1]
		if w.lane == laneBaseline {
			c.Baseline = append(c.Baseline, *trials[i])
		} else {
			c.Candidate = append(c.Candidate, *trials[i])
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

// ensure creates a task, unless it exists. It reports whether its name is taken.
func (r *Reconciler) ensure(ctx context.Context, e *v1beta1.AgentEvaluation, w wanted) (taken bool, err error) {
	task := &v1beta1.AgentTask{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: w.name, Labels: map[string]string{v1beta1.LabelEvaluation: e.Name, v1beta1.LabelRole: e.Spec.Role}},
		Spec: v1beta1.AgentTaskSpec{
			Type: v1beta1.TaskAgent, Role: e.Spec.Role,
			Fork: &v1beta1.TaskFork{
				UID: w.run.UID, SubAgent: w.run.SubAgent, Sequence: ptr.To[int64](0), ModelReplies: v1beta1.RepliesLive,
				ToolResults: v1beta1.ResultSource(e.Spec.ToolResults), RoleRevision: w.revision,
			},
		},
	}
	if err := controllerutil.SetControllerReference(e, task, r.Client.Scheme()); err != nil {
		return false, fmt.Errorf("own the task %s: %w", w.name, err)
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
