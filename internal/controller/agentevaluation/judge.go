// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentevaluation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/validation"
)

// maxLabels is the number of content labels that a task may have.
const maxLabels = 16

// judgeOf returns the revision that runs of the judge begin with, or why the judge cannot be used; neither if the suite has no judge.
func (r *Reconciler) judgeOf(ctx context.Context, e *v1beta1.AgentEvaluation) (revision string, problem *metav1.Condition, err error) {
	if e.Spec.Judge == "" {
		return "", nil, nil
	}
	not := func(reason, message string) (string, *metav1.Condition, error) {
		condition := status.NotReady(e.Generation, reason, message)
		return "", &condition, nil
	}
	var object v1beta1.AgentRole
	name := types.NamespacedName{Namespace: e.Namespace, Name: e.Spec.Judge}
	if err := r.Client.Get(ctx, name, &object); apierrors.IsNotFound(err) {
		return not(v1beta1.ReasonRoleNotFound, fmt.Sprintf("spec.judge: create the AgentRole %s in this namespace, with isolated: true.", e.Spec.Judge))
	} else if err != nil {
		return "", nil, fmt.Errorf("get the role %s: %w", name, err)
	}
	read, err := r.Finder.RoleAt(ctx, e.Namespace, e.Spec.Judge, "")
	if condition, missing := status.FromMissing(e.Generation, err); missing {
		return not(condition.Reason, fmt.Sprintf("spec.judge: the role %s cannot be used: %s", e.Spec.Judge, condition.Message))
	}
	if err != nil {
		return "", nil, fmt.Errorf("read the role %s: %w", name, err)
	}
	if !read.Isolated {
		return not(v1beta1.ReasonInvalidSpec, fmt.Sprintf(
			"spec.judge: the role %s is not isolated, and reads text that may mislead it: set isolated: true and an outputSchema, or name another role.", e.Spec.Judge))
	}
	if problem := role.IsolationProblem(read); problem != "" {
		return not(v1beta1.ReasonInvalidSpec, "spec.judge: "+problem)
	}
	if err := validation.CheckRole(read.AgentRoleSpec); err != nil {
		return not(v1beta1.ReasonInvalidSpec, fmt.Sprintf("spec.judge: the role %s cannot be used: %s.", e.Spec.Judge, err))
	}
	return read.Revision, nil, nil
}

// judgeName returns the name of the judge's task about a task that has ended. Another revision of the judge judges again.
func judgeName(e *v1beta1.AgentEvaluation, task *v1beta1.AgentTask) string {
	return taskName(e, "judge", string(task.UID), e.Spec.Judge, e.Status.JudgeRevision)
}

// judgeTask returns the judge's task about a task that has ended.
func judgeTask(e *v1beta1.AgentEvaluation, task *v1beta1.AgentTask, c checked) *v1beta1.AgentTask {
	return taskOf(e, judgeName(e, task), v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskAgent, Role: e.Spec.Judge, Instruction: c.question, ContentLabels: judgeLabels(c.labels),
	})
}

// judgeLabels returns the content labels of the judge's task: the text that it judges is untrusted, wherever it comes from. Of the labels of
// the run, the last is left out if there is no room for it.
func judgeLabels(ofRun []string) []v1beta1.ContentLabel {
	labels := []v1beta1.ContentLabel{v1beta1.ContentUntrusted}
	for _, name := range ofRun {
		if label := v1beta1.ContentLabel(name); !slices.Contains(labels, label) && len(labels) < maxLabels {
			labels = append(labels, label)
		}
	}
	return labels
}

// judgment returns the data of a judge's task that has ended, or why there is none.
func judgment(e *v1beta1.AgentEvaluation, task *v1beta1.AgentTask) (data json.RawMessage, problem string) {
	s := task.Status
	switch {
	case s.RoleRevision != "" && s.RoleRevision != e.Status.JudgeRevision:
		return nil, fmt.Sprintf("The judge changed meanwhile: %s ran with the revision %s.", task.Name, s.RoleRevision)
	case s.Phase == v1beta1.TaskSuccess && s.Result != nil && s.Result.Data != nil:
		return s.Result.Data.Raw, ""
	case s.Error != nil:
		return nil, fmt.Sprintf("The judge has no result: %s: %s", s.Error.Kind, s.Error.Message)
	}
	return nil, fmt.Sprintf("The judge has no result: %s ended with the phase %s.", task.Name, cmp.Or(s.Phase, v1beta1.TaskFailed))
}
