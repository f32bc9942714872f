// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttask

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/agentconfig"
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/controller/tree"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/role"
)

// standaloneDepth is how deep the agents of a standalone task may be nested.
const standaloneDepth = 2

// defaultRole is whose approval rules hold for a tool that no agent's role is known of.
const defaultRole = "orchestrator"

// ensureSubAgent makes sure that the agent of a task exists, and that it is cancelled if the task is.
func (r *Reconciler) ensureSubAgent(ctx context.Context, task *v1alpha1.AgentTask, lineage tree.Lineage) error {
	sub, err := r.Runner.SubAgent(ctx, task)
	if err == nil && sub == nil && task.Status.SubAgent != "" {
		if sub, err = r.Runner.FindSubAgent(ctx, task); err == nil && sub == nil {
			return startErrorf(v1alpha1.ErrorCancelled, "Its sub-agent was deleted.") // to delete work is to cancel it
		}
	}
	if err != nil {
		return err
	}
	if sub == nil {
		return r.createSubAgent(ctx, task, lineage)
	}
	if !task.Spec.Cancel || sub.Spec.Cancel {
		return nil
	}
	sub.Spec.Cancel = true
	metav1.SetMetaDataAnnotation(&sub.ObjectMeta, v1alpha1.AnnotationCancelledBy, run.CancelledBy(task))
	if err := client.IgnoreNotFound(r.Client.Update(ctx, sub)); err != nil {
		return fmt.Errorf("cancel sub-agent %s/%s: %w", task.Namespace, task.Name, err)
	}
	return nil
}

// abandon ends the work of a task whose owner was deleted, or that has lost its owner: nobody waits for it any more. It may have been
// left behind on purpose, so its status says what became of it.
func (r *Reconciler) abandon(ctx context.Context, task *v1alpha1.AgentTask) error {
	uid, err := r.Runner.TaskUID(ctx, task)
	if err != nil {
		return err
	}
	var state agent.State
	started := false
	if uid != "" {
		state, started, err = r.Runner.State(ctx, uid)
	}
	if err != nil {
		return err
	}
	if !started {
		return startErrorf(v1alpha1.ErrorCancelled, "The chat or agent that asked for it was deleted.")
	}
	if state.Phase.Terminal() || state.Phase == agent.PhaseCancelling {
		return nil
	}
	return r.Runner.Engine.Abandon(ctx, uid)
}

// standalone says that nobody but the task's author asked for it.
func standalone(task *v1alpha1.AgentTask) bool {
	return task.Spec.Chat == "" && task.Labels[v1alpha1.LabelParent] == ""
}

// startError says why a task ends without ever having had, or having lost, somebody who does its work.
type startError struct{ v1alpha1.RunError }

// Error implements error.
func (e *startError) Error() string { return e.Message }

func startErrorf(kind v1alpha1.ErrorKind, format string, args ...any) error {
	return &startError{v1alpha1.RunError{Kind: kind, Message: fmt.Sprintf(format, args...)}}
}

func (r *Reconciler) createSubAgent(ctx context.Context, task *v1alpha1.AgentTask, lineage tree.Lineage) error {
	if standalone(task) {
		r.Runner.Finder.Begin(task.Namespace)
	}
	found, err := r.Runner.Finder.Role(ctx, task.Namespace, task.Spec.Role)
	if err != nil {
		return err
	}
	if err := r.checkInput(task, found); err != nil {
		return err
	}
	depth, maxDepth, cwd := placement(task, lineage)
	if depth > maxDepth {
		return startErrorf(v1alpha1.ErrorDepthLimit, "Its sub-agent would have the depth %d, and the limit is %d: delegate less deeply, or raise limits.maxDepth of the chat.", depth, maxDepth)
	}
	uses, err := r.Runner.Config.ModelOf(ctx, task, found)
	if err != nil {
		return err
	}
	sub := &v1alpha1.SubAgent{ObjectMeta: metav1.ObjectMeta{Namespace: task.Namespace, Name: task.Name, Labels: map[string]string{v1alpha1.LabelRole: task.Spec.Role}}}
	sub.Spec = v1alpha1.SubAgentSpec{
		Chat: task.Spec.Chat, Task: task.Name, Role: task.Spec.Role, Depth: depth, Instruction: task.Spec.Instruction, Arguments: task.Spec.Arguments,
		ContextFiles: task.Spec.ContextFiles, SuccessCriteria: task.Spec.SuccessCriteria, Context: task.Spec.Context, ContinueFrom: task.Spec.ContinueFrom,
		Cwd: cwd, ModelProvider: uses.Provider, Model: uses.Model, Cancel: task.Spec.Cancel,
		Limits: agentconfig.OfTask(found, task.Spec.Limits, maxDepth, task.Spec.Chat == "" && depth == 1),
	}
	if lineage.Chat != nil {
		sub.Labels[v1alpha1.LabelChat] = task.Spec.Chat
	}
	if task.Spec.Cancel {
		sub.Annotations = map[string]string{v1alpha1.AnnotationCancelledBy: run.CancelledBy(task)}
	}
	if depth > 1 {
		sub.Spec.Parent = lineage.Parent.GetName()
		sub.Labels[v1alpha1.LabelParent] = sub.Spec.Parent
	}
	if err := controllerutil.SetControllerReference(task, sub, r.Client.Scheme()); err != nil {
		return fmt.Errorf("own sub-agent %s/%s: %w", task.Namespace, task.Name, err)
	}
	return r.create(ctx, task, sub)
}

// checkInput says what is wrong with the arguments of a task whose role says what it takes.
func (r *Reconciler) checkInput(task *v1alpha1.AgentTask, found role.Role) error {
	if task.Spec.Arguments == nil || found.AsTool == nil || len(found.AsTool.InputSchema) == 0 {
		return nil
	}
	if lines := r.checker.Violations(found.AsTool.InputSchema, task.Spec.Arguments.Raw); len(lines) > 0 {
		return startErrorf(v1alpha1.ErrorInvalidSpec, "spec.arguments do not fit the inputSchema of the role %s: %s. Create the task again with arguments that do.",
			task.Spec.Role, strings.Join(lines, "; "))
	}
	return nil
}

// create creates the sub-agent of a task, under the first of its names that nobody else has.
func (r *Reconciler) create(ctx context.Context, task *v1alpha1.AgentTask, sub *v1alpha1.SubAgent) error {
	for _, name := range tree.SubAgentNames(task) {
		sub.Name, sub.ResourceVersion = name, ""
		err := r.Client.Create(ctx, sub)
		if err == nil {
			return nil
		}
		refused := run.IsRefused(err)
		if !refused && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create sub-agent %s/%s: %w", task.Namespace, name, err)
		}
		// The cache may not have heard of it. A quota is looked at before the name, so the sub-agent may be what filled the quota.
		if ours, findErr := r.Runner.FindSubAgent(ctx, task); findErr != nil || ours != nil {
			return findErr
		}
		if refused {
			return startErrorf(v1alpha1.ErrorInvalidSpec, "%s", err)
		}
	}
	return fmt.Errorf("create the sub-agent of task %s/%s: all of its names are taken", task.Namespace, task.Name)
}

// placement is how deep a task's agent is, how deep it may be, and the directory it works in: its parent's unless the task names one.
func placement(task *v1alpha1.AgentTask, lineage tree.Lineage) (depth, limit int32, cwd string) {
	depth, limit, cwd = 1, standaloneDepth, task.Spec.Cwd
	if parent, ok := lineage.Parent.(*v1alpha1.SubAgent); ok {
		depth, limit = parent.Spec.Depth+1, parent.Spec.Limits.MaxDepth
		if cwd == "" {
			cwd = parent.Spec.Cwd
		}
	}
	if lineage.Chat != nil {
		limit = lineage.Chat.Spec.Limits.MaxDepth
	}
	return depth, limit, cwd
}

// ensureToolRun makes sure that a task's tool runs, or is cancelled.
func (r *Reconciler) ensureToolRun(ctx context.Context, task *v1alpha1.AgentTask, lineage tree.Lineage) error {
	uid := string(task.UID)
	state, started, err := r.Runner.State(ctx, uid)
	if err != nil {
		return err
	}
	if started {
		if task.Spec.Cancel && !state.Phase.Terminal() {
			return r.Runner.Engine.Deliver(uid, agent.Cancelled{By: run.CancelledBy(task)})
		}
		return nil
	}
	if err := r.Runner.Engine.Blocked(uid); err != nil {
		return err // it begins as soon as the ledger takes it
	}
	if task.Status.StartTime != nil {
		return startErrorf(v1alpha1.ErrorHistoryLost, "The task had begun, but the ledger has no events of it, so its tool may have run. Look at what it did, and create the task again if it must run.")
	}
	if standalone(task) {
		r.Runner.Finder.Begin(task.Namespace)
	}
	subject := agentconfig.Subject{Kind: agent.ToolRun, Object: task, Namespace: task.Namespace, Name: task.Name, Role: defaultRole, Tool: task.Spec.Tool,
		Depth: 1, MaxDepth: standaloneDepth, TaskLimits: task.Spec.Limits}
	record := ledger.Agent{UID: uid, Kind: "AgentTask", Namespace: task.Namespace, Name: task.Name, Root: uid, Depth: 1, CreatedAt: task.CreationTimestamp.Time}
	if chat := lineage.Chat; chat != nil {
		subject.Role = chat.Spec.Role
		record.Chat, record.Root, record.Parent = chat.Name, string(chat.UID), string(chat.UID)
		if state, _, err = r.Runner.State(ctx, record.Parent); err != nil {
			return err
		}
	}
	record.Role = subject.Role
	resolved, err := r.Runner.Config.Resolve(ctx, subject)
	if err != nil {
		return err
	}
	record.NamespaceUID = resolved.NamespaceUID
	config := resolved.Config
	config.Origin = state.ChildOrigin(task.Name)
	config.ToolCall = &agent.ToolRunCall{Tool: task.Spec.Tool}
	if task.Spec.Arguments != nil {
		config.ToolCall.Arguments = task.Spec.Arguments.Raw
	}
	if task.Spec.Chat == "" {
		config.Role.Approval, config.Role.ApprovalTools = agent.ApproveNever, nil // who created the task asked for this very call
	}
	// A tool that must not run twice waits until the task's status says that it has begun: after a loss of the ledger nothing else would.
	// Other tasks, which may be over within a second, are written once.
	config.AwaitStartPublished = !config.Repeatable(task.Spec.Tool)
	return r.Runner.Engine.Start(record, agent.Started{Config: config})
}
