// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/agentconfig"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/validation"
)

// standaloneDepth is the depth limit for the agents of a standalone task.
const standaloneDepth = 2

func (r *Reconciler) createSubAgent(ctx context.Context, task *v1beta1.AgentTask, lineage cluster.Lineage) error {
	if task.Spec.Fork != nil {
		forked, err := r.assignFork(ctx, task)
		if err != nil {
			return err
		}
		task = forked
	}
	pinned, err := r.pinnedRevisions(ctx, lineage)
	if err != nil {
		return err
	}
	definition, err := r.Runner.Finder.RoleAt(ctx, task.Namespace, task.Spec.Role, pinned[task.Spec.Role])
	if err != nil {
		return err
	}
	if err := r.checkInput(ctx, task, definition); err != nil {
		return err
	}
	if err := checkRoleFields(task, definition); err != nil {
		return err
	}
	depth, maxDepth, cwd := placement(task, lineage)
	if depth > maxDepth {
		return startErrorf(v1beta1.ErrorDepthLimit, "Its sub-agent would have the depth %d, and the limit is %d: delegate less deeply, or raise limits.maxDepth of the chat.", depth, maxDepth)
	}
	uses, err := r.Runner.Config.ModelOf(ctx, task, definition)
	if err != nil {
		return err
	}
	sub := &v1beta1.SubAgent{ObjectMeta: metav1.ObjectMeta{Namespace: task.Namespace, Name: task.Name, Labels: map[string]string{v1beta1.LabelRole: task.Spec.Role}}}
	sub.Spec = v1beta1.SubAgentSpec{
		Chat: task.Spec.Chat, Task: task.Name, Role: task.Spec.Role, Depth: depth, Instruction: task.Spec.Instruction, Arguments: task.Spec.Arguments,
		ContextFiles: task.Spec.ContextFiles, SuccessCriteria: task.Spec.SuccessCriteria, Context: task.Spec.Context, ContinueFrom: task.Spec.ContinueFrom,
		OutputSchema: task.Spec.OutputSchema, ContentLabels: task.Spec.ContentLabels,
		WorkingDir: cwd, ModelProvider: uses.Provider, Model: uses.Model, Cancel: task.Spec.Cancel,
		Limits: agentconfig.OfTask(definition, task.Spec.Limits, maxDepth, task.Spec.Chat == "" && depth == 1),
	}
	if lineage.Chat != nil {
		sub.Labels[v1beta1.LabelChat] = task.Spec.Chat
	}
	if task.Spec.Cancel {
		sub.Annotations = map[string]string{v1beta1.AnnotationCancelledBy: CancelledBy(task)}
	}
	if depth > 1 {
		sub.Spec.Parent = lineage.Parent.GetName()
		sub.Labels[v1beta1.LabelParent] = sub.Spec.Parent
	}
	cluster.SetRoot(sub, task)
	if err := controllerutil.SetControllerReference(task, sub, r.Runner.Client.Scheme()); err != nil {
		return fmt.Errorf("own sub-agent %s/%s: %w", task.Namespace, task.Name, err)
	}
	return r.create(ctx, task, sub)
}

// checkInput checks the arguments of a task against the input schema of its role.
func (r *Reconciler) checkInput(ctx context.Context, task *v1beta1.AgentTask, definition role.Role) error {
	schema := definition.InputSchema()
	if task.Spec.Arguments == nil || len(schema) == 0 {
		return nil
	}
	lines, err := r.checker.Violations(ctx, schema, task.Spec.Arguments.Raw)
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		return startErrorf(v1beta1.ErrorInvalidSpec, "spec.arguments do not fit the inputSchema of the role %s: %s. Create the task again with arguments that do.",
			task.Spec.Role, strings.Join(lines, "; "))
	}
	return nil
}

// checkRoleFields checks the fields of a task that its role may not allow.
func checkRoleFields(task *v1beta1.AgentTask, definition role.Role) error {
	switch {
	case definition.Isolated && len(task.Spec.ContextFiles) > 0:
		return startErrorf(v1beta1.ErrorInvalidSpec, "The role %s is isolated, so its agents have no tool to read files: create the task again without spec.contextFiles, or with another role.", task.Spec.Role)
	case task.Spec.OutputSchema == nil:
		return nil
	case definition.Isolated:
		return startErrorf(v1beta1.ErrorInvalidSpec, "The role %s is isolated, so its outputSchema cannot be replaced: create the task again without spec.outputSchema, or with another role.", task.Spec.Role)
	case definition.Remote != nil:
		return startErrorf(v1beta1.ErrorInvalidSpec, "The role %s is that of a remote agent, which submits no data: create the task again without spec.outputSchema, or with another role.", task.Spec.Role)
	}
	if err := validation.CheckTask(task.Spec); err != nil {
		return startErrorf(v1beta1.ErrorInvalidSpec, "%s. Create the task again with a JSON schema of an object.", err)
	}
	return nil
}

// create creates the sub-agent of a task under the first of its names that is free.
func (r *Reconciler) create(ctx context.Context, task *v1beta1.AgentTask, sub *v1beta1.SubAgent) error {
	for _, name := range cluster.SubAgentNames(task) {
		sub.Name, sub.ResourceVersion = name, ""
		err := r.Runner.Client.Create(ctx, sub)
		if err == nil {
			return nil
		}
		refused := IsRefused(err)
		if !refused && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create sub-agent %s/%s: %w", task.Namespace, name, err)
		}
		// The sub-agent may be missing from the cache. The API server checks quotas before names, so it may be the object
		// that filled the quota.
		if ours, findErr := r.Runner.FindSubAgent(ctx, task); findErr != nil || ours != nil {
			return findErr
		}
		if refused {
			return startErrorf(v1beta1.ErrorInvalidSpec, "%s", err)
		}
	}
	return fmt.Errorf("create the sub-agent of task %s/%s: all of its names are taken", task.Namespace, task.Name)
}

// placement returns the depth of a task's agent, its depth limit, and its working directory: its parent's unless the
// task names one.
func placement(task *v1beta1.AgentTask, lineage cluster.Lineage) (depth, limit int32, cwd string) {
	depth, limit, cwd = 1, standaloneDepth, task.Spec.WorkingDir
	if parent, ok := lineage.Parent.(*v1beta1.SubAgent); ok {
		depth, limit = parent.Spec.Depth+1, parent.Spec.Limits.MaxDepth
		if cwd == "" {
			cwd = parent.Spec.WorkingDir
		}
	}
	if lineage.Chat != nil {
		limit = lineage.Chat.Spec.Limits.MaxDepth
	}
	return depth, limit, cwd
}
