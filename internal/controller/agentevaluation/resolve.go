// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentevaluation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// maxRuns is the number of recorded runs of an evaluation. Cases share it: a selector that matches many does not keep later ones from theirs.
const maxRuns = 200

// resolve returns the recorded runs of the cases, or which of them have none.
func (r *Reconciler) resolve(ctx context.Context, e *v1beta1.AgentEvaluation) (runs []v1beta1.EvaluatedRun, missing string, err error) {
	var list v1beta1.AgentTaskList
	if err := r.Client.List(ctx, &list, client.InNamespace(e.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, "", fmt.Errorf("list the tasks of %s: %w", e.Namespace, err)
	}
	var without []string
	for i, c := range e.Spec.Cases {
		tasks, problem := tasksOf(c, e.Spec.Role, list.Items)
		if problem != "" {
			without = append(without, problem)
			continue
		}
		found := 0
		for _, task := range tasks[:min(len(tasks), (maxRuns-len(runs))/(len(e.Spec.Cases)-i))] {
			sub, err := r.runOf(ctx, task)
			if err != nil {
				return nil, "", err
			}
			if sub != nil {
				runs = append(runs, v1beta1.EvaluatedRun{Case: c.Name, Task: task.Name, SubAgent: sub.Name, UID: string(sub.UID)})
				found++
			}
		}
		if found == 0 {
			without = append(without, fmt.Sprintf("the tasks of the case %s have no run", c.Name))
		}
	}
	if len(without) > 0 {
		return nil, fmt.Sprintf("Cases without a recorded run: %s.", strings.Join(without, "; ")), nil
	}
	return runs, "", nil
}

// tasksOf returns the tasks of a case that have ended, the newest first, or why there are none.
func tasksOf(c v1beta1.EvaluationCase, role string, all []v1beta1.AgentTask) (tasks []*v1beta1.AgentTask, problem string) {
	selector, err := metav1.LabelSelectorAsSelector(c.TaskSelector)
	if err != nil {
		return nil, fmt.Sprintf("the selector of %s is invalid: %s", c.Name, err)
	}
	for i := range all {
		task := &all[i]
		switch {
		case task.Spec.Type != v1beta1.TaskAgent || task.Spec.Fork != nil || !ended(task):
		case c.TaskUID != "" && string(task.UID) == c.TaskUID, c.TaskUID == "" && task.Spec.Role == role && selector.Matches(labels.Set(task.Labels)):
			tasks = append(tasks, task)
		}
	}
	slices.SortFunc(tasks, func(a, b *v1beta1.AgentTask) int {
		return cmp.Or(b.Status.CompletionTime.Compare(a.Status.CompletionTime.Time), strings.Compare(a.Name, b.Name))
	})
	switch {
	case len(tasks) > 0:
		return tasks, ""
	case c.TaskUID != "":
		return nil, fmt.Sprintf("%s (no AgentTask that has ended has the UID %s)", c.Name, c.TaskUID)
	}
	return nil, fmt.Sprintf("%s (no AgentTask of the role that has ended has these labels)", c.Name)
}

// runOf returns the sub-agent of a task; nil if the task has none any more.
func (r *Reconciler) runOf(ctx context.Context, task *v1beta1.AgentTask) (*v1beta1.SubAgent, error) {
	if task.Status.SubAgent == "" {
		return nil, nil
	}
	var sub v1beta1.SubAgent
	name := types.NamespacedName{Namespace: task.Namespace, Name: task.Status.SubAgent}
	err := r.Client.Get(ctx, name, &sub)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(&sub, task) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the sub-agent %s: %w", name, err)
	}
	return &sub, nil
}
