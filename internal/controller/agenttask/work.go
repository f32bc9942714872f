// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttask

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/agentconfig"
	"github.com/nestor-dev/nestor/internal/controller/backend"
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/shard"
	"github.com/nestor-dev/nestor/internal/tool"
)

// standaloneDepth is the depth limit for the agents of a standalone task.
const standaloneDepth = 2

// defaultRole is the role whose approval rules apply to a tool if the role of its agent is unknown.
const defaultRole = "orchestrator"

// ensureSubAgent creates the agent of a task, and cancels it if the task is cancelled.
func (r *Reconciler) ensureSubAgent(ctx context.Context, task *v1alpha1.AgentTask, lineage cluster.Lineage) error {
	sub, err := r.Runner.SubAgent(ctx, task)
	if err == nil && sub == nil && task.Status.SubAgent != "" {
		if sub, err = r.Runner.FindSubAgent(ctx, task); err == nil && sub == nil {
			return startErrorf(v1alpha1.ErrorCancelled, "Its sub-agent was deleted.") // deleting a sub-agent cancels it
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

// abandon ends the work of a task whose owner was deleted, or that has lost its owner, because the result has no recipient. The task may
// have been orphaned on purpose, so its status shows the outcome.
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
	_, err = r.Runner.Engine.EndIfDeleted(ctx, uid)
	return err
}

// standalone reports whether a task was created directly, not by a chat or an agent.
func standalone(lineage cluster.Lineage) bool { return lineage.Parent == nil }

// startError is the reason why a task ends that never had, or has lost, a sub-agent or tool run.
type startError struct{ v1alpha1.RunError }

// Error implements error.
func (e *startError) Error() string { return e.Message }

func startErrorf(kind v1alpha1.ErrorKind, format string, args ...any) error {
	return &startError{v1alpha1.RunError{Kind: kind, Message: fmt.Sprintf(format, args...)}}
}

func (r *Reconciler) createSubAgent(ctx context.Context, task *v1alpha1.AgentTask, lineage cluster.Lineage) error {
	if standalone(lineage) {
		r.Runner.Finder.Begin(task.Namespace)
	}
	found, err := r.Runner.Finder.Role(ctx, task.Namespace, task.Spec.Role)
	if err != nil {
		return err
	}
	if err := r.checkInput(ctx, task, found); err != nil {
		return err
	}
	if err := checkOutput(task, found); err != nil {
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
		OutputSchema: task.Spec.OutputSchema,
		Cwd:          cwd, ModelProvider: uses.Provider, Model: uses.Model, Cancel: task.Spec.Cancel,
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
	cluster.SetRoot(sub, task)
	if err := controllerutil.SetControllerReference(task, sub, r.Client.Scheme()); err != nil {
		return fmt.Errorf("own sub-agent %s/%s: %w", task.Namespace, task.Name, err)
	}
	return r.create(ctx, task, sub)
}

// checkInput checks the arguments of a task against the input schema of its role.
func (r *Reconciler) checkInput(ctx context.Context, task *v1alpha1.AgentTask, found role.Role) error {
	schema := found.InputSchema()
	if task.Spec.Arguments == nil || len(schema) == 0 {
		return nil
	}
	lines, err := r.checker.Violations(ctx, schema, task.Spec.Arguments.Raw)
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		return startErrorf(v1alpha1.ErrorInvalidSpec, "spec.arguments do not fit the inputSchema of the role %s: %s. Create the task again with arguments that do.",
			task.Spec.Role, strings.Join(lines, "; "))
	}
	return nil
}

// checkOutput checks the output schema of a task.
func checkOutput(task *v1alpha1.AgentTask, found role.Role) error {
	switch {
	case task.Spec.OutputSchema == nil:
		return nil
	case found.Remote != nil:
		return startErrorf(v1alpha1.ErrorInvalidSpec, "The role %s is that of a remote agent, which submits no data: create the task again without spec.outputSchema, or with another role.", task.Spec.Role)
	}
	if _, err := tool.OutputSchema(task.Spec.OutputSchema.Raw); err != nil {
		return startErrorf(v1alpha1.ErrorInvalidSpec, "spec.outputSchema cannot be used: %s. Create the task again with a JSON schema of an object.", err)
	}
	return nil
}

// create creates the sub-agent of a task under the first of its names that is free.
func (r *Reconciler) create(ctx context.Context, task *v1alpha1.AgentTask, sub *v1alpha1.SubAgent) error {
	for _, name := range cluster.SubAgentNames(task) {
		sub.Name, sub.ResourceVersion = name, ""
		err := r.Client.Create(ctx, sub)
		if err == nil {
			return nil
		}
		refused := run.IsRefused(err)
		if !refused && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create sub-agent %s/%s: %w", task.Namespace, name, err)
		}
		// The sub-agent may be missing from the cache. The API server checks quotas before names, so it may be the object that filled the
		// quota.
		if ours, findErr := r.Runner.FindSubAgent(ctx, task); findErr != nil || ours != nil {
			return findErr
		}
		if refused {
			return startErrorf(v1alpha1.ErrorInvalidSpec, "%s", err)
		}
	}
	return fmt.Errorf("create the sub-agent of task %s/%s: all of its names are taken", task.Namespace, task.Name)
}

// placement returns the depth of a task's agent, its depth limit, and its working directory: its parent's unless the task names one.
func placement(task *v1alpha1.AgentTask, lineage cluster.Lineage) (depth, limit int32, cwd string) {
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

// ensureToolRun starts or cancels the tool run of a task.
func (r *Reconciler) ensureToolRun(ctx context.Context, task *v1alpha1.AgentTask, lineage cluster.Lineage) error {
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
		return err // it starts when the ledger is available
	}
	if task.Status.StartTime != nil {
		return startErrorf(v1alpha1.ErrorHistoryLost, "The task had started, but the ledger has no events of it, so its tool may have run. Check what it did, and create the task again if it must run.")
	}
	if standalone(lineage) {
		r.Runner.Finder.Begin(task.Namespace)
	}
	if lineage.Chat == nil {
		err := r.Runner.Config.Tools.CheckUse(ctx, task)
		if refused := (*backend.NotAllowed)(nil); errors.As(err, &refused) {
			return startErrorf(v1alpha1.ErrorInvalidSpec, "%s cannot be called: %s.", task.Spec.Tool, refused)
		}
		if err != nil {
			return err
		}
	}
	subject := agentconfig.Subject{Kind: agent.ToolRun, Object: task, Namespace: task.Namespace, Name: task.Name, Role: defaultRole, Tool: task.Spec.Tool,
		Depth: 1, MaxDepth: standaloneDepth, TaskLimits: task.Spec.Limits}
	record := ledger.Agent{UID: uid, Kind: "AgentTask", Namespace: task.Namespace, Name: task.Name, Root: uid, ShardHash: shard.Hash(uid), Depth: 1, CreatedAt: task.CreationTimestamp.Time}
	if chat := lineage.Chat; chat != nil {
		subject.Role = chat.Spec.Role
		record.Chat, record.Root, record.Parent = chat.Name, string(chat.UID), string(chat.UID)
		record.ShardHash = shard.Hash(record.Root)
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
		config.Role.Approval, config.Role.ApprovalTools = agent.ApproveNever, nil // creating the task is the approval of this call
		for i := range config.Tools {
			config.Tools[i].Approval = ""
		}
	}
	// A tool that must not run twice waits until the task's status shows the start: after a loss of the ledger there is no other record.
	// Other tasks, which may end within a second, are written once.
	config.AwaitStartPublished = !config.Repeatable(task.Spec.Tool)
	return r.Runner.Engine.Start(record, agent.Started{Config: config})
}
