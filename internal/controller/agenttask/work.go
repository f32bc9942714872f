// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttask

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/role"
)

// standaloneDepth is how deep the agents of a standalone task may be nested.
const standaloneDepth = 2

// defaultRole is whose approval rules hold for a tool that no agent's role is known of.
const defaultRole = "orchestrator"

// ensureSubAgent makes sure that the agent of a task exists, and that it is cancelled if the task is.
func (r *Reconciler) ensureSubAgent(ctx context.Context, task *v1alpha1.AgentTask) error {
	var sub v1alpha1.SubAgent
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(task), &sub)
	if apierrors.IsNotFound(err) && task.Status.SubAgent != "" {
		return r.subAgentDeleted(ctx, task)
	}
	if apierrors.IsNotFound(err) {
		return r.createSubAgent(ctx, task)
	}
	if err != nil {
		return fmt.Errorf("get sub-agent %s/%s: %w", task.Namespace, task.Name, err)
	}
	if !task.Spec.Cancel || sub.Spec.Cancel {
		return nil
	}
	sub.Spec.Cancel = true
	if err := client.IgnoreNotFound(r.Client.Update(ctx, &sub)); err != nil {
		return fmt.Errorf("cancel sub-agent %s/%s: %w", task.Namespace, task.Name, err)
	}
	return nil
}

// subAgentDeleted ends a task whose sub-agent somebody has deleted: to delete work is to cancel it.
func (r *Reconciler) subAgentDeleted(ctx context.Context, task *v1alpha1.AgentTask) error {
	_, err := r.fail(ctx, task, v1alpha1.RunError{Kind: v1alpha1.ErrorCancelled, Message: "Its sub-agent was deleted."})
	return err
}

func (r *Reconciler) createSubAgent(ctx context.Context, task *v1alpha1.AgentTask) error {
	found, err := r.Runner.Finder.Role(ctx, task.Namespace, task.Spec.Role)
	if err != nil {
		return err
	}
	depth, maxDepth, err := r.depth(ctx, task)
	if err != nil {
		return err
	}
	sub := &v1alpha1.SubAgent{ObjectMeta: metav1.ObjectMeta{Namespace: task.Namespace, Name: task.Name, Labels: map[string]string{v1alpha1.LabelRole: task.Spec.Role}}}
	sub.Spec = v1alpha1.SubAgentSpec{
		Chat: task.Spec.Chat, Task: task.Name, Role: task.Spec.Role, Depth: depth, Instruction: task.Spec.Instruction, Arguments: task.Spec.Arguments,
		ContextFiles: task.Spec.ContextFiles, SuccessCriteria: task.Spec.SuccessCriteria, Context: task.Spec.Context, ContinueFrom: task.Spec.ContinueFrom,
		Cwd: task.Spec.Cwd, ModelProvider: task.Spec.ModelProvider, Model: task.Spec.Model, Cancel: task.Spec.Cancel,
		Limits: v1alpha1.AgentLimits{
			MaxIterations: int32(found.Limits.MaxIterations), MaxDurationSeconds: int32(found.Limits.MaxDurationSeconds), MaxDepth: maxDepth,
			MaxTotalTokens: found.Limits.MaxTotalTokens, MaxCostMicros: found.Limits.MaxCostMicros,
		},
	}
	tighten(&sub.Spec.Limits, task.Spec.Limits)
	if task.Spec.Chat != "" {
		sub.Labels[v1alpha1.LabelChat] = task.Spec.Chat
		if sub.Spec.ModelProvider, sub.Spec.Model, err = r.chatModel(ctx, task, found); err != nil {
			return err
		}
	}
	if depth > 1 {
		sub.Spec.Parent = task.Labels[v1alpha1.LabelParent]
		sub.Labels[v1alpha1.LabelParent] = sub.Spec.Parent
	}
	if err := controllerutil.SetControllerReference(task, sub, r.Client.Scheme()); err != nil {
		return fmt.Errorf("own sub-agent %s/%s: %w", task.Namespace, task.Name, err)
	}
	if err := r.Client.Create(ctx, sub); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create sub-agent %s/%s: %w", task.Namespace, task.Name, err)
	}
	return nil
}

// chatModel is the provider that a chat gives to agents whose role names none. Its model is the orchestrator's own.
func (r *Reconciler) chatModel(ctx context.Context, task *v1alpha1.AgentTask, found role.Role) (provider, model string, err error) {
	if found.ModelProvider != "" {
		return found.ModelProvider, found.Model, nil
	}
	var chat v1alpha1.AgentChat
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: task.Namespace, Name: task.Spec.Chat}, &chat); err != nil {
		return "", "", fmt.Errorf("get chat %s/%s: %w", task.Namespace, task.Spec.Chat, err)
	}
	return chat.Spec.ModelProvider, found.Model, nil
}

// depth is how deep a task's agent is, and how deep it may be.
func (r *Reconciler) depth(ctx context.Context, task *v1alpha1.AgentTask) (depth, limit int32, err error) {
	depth, limit = 1, standaloneDepth
	if name := task.Labels[v1alpha1.LabelParent]; name != "" {
		var parent v1alpha1.SubAgent
		if err := r.Client.Get(ctx, types.NamespacedName{Namespace: task.Namespace, Name: name}, &parent); err != nil {
			return 0, 0, fmt.Errorf("get the parent of task %s/%s: %w", task.Namespace, task.Name, err)
		}
		depth, limit = parent.Spec.Depth+1, parent.Spec.Limits.MaxDepth
	}
	if task.Spec.Chat != "" {
		var chat v1alpha1.AgentChat
		if err := r.Client.Get(ctx, types.NamespacedName{Namespace: task.Namespace, Name: task.Spec.Chat}, &chat); err != nil {
			return 0, 0, fmt.Errorf("get chat %s/%s: %w", task.Namespace, task.Spec.Chat, err)
		}
		limit = chat.Spec.Limits.MaxDepth
	}
	return depth, limit, nil
}

// tighten takes over what a task limits further than its role.
func tighten(limits *v1alpha1.AgentLimits, by *v1alpha1.TaskLimits) {
	if by == nil {
		return
	}
	if n := by.MaxIterations; n != nil {
		limits.MaxIterations = min(limits.MaxIterations, *n)
	}
	if n := by.MaxDurationSeconds; n != nil {
		limits.MaxDurationSeconds = min(limits.MaxDurationSeconds, *n)
	}
}

// ensureToolRun makes sure that a task's tool runs, or is cancelled.
func (r *Reconciler) ensureToolRun(ctx context.Context, task *v1alpha1.AgentTask) error {
	uid := string(task.UID)
	state, begun, err := r.Runner.State(ctx, uid)
	if err != nil {
		return err
	}
	if begun {
		if task.Spec.Cancel && !state.Phase.Terminal() {
			return r.Runner.Engine.Deliver(uid, agent.Cancelled{})
		}
		return nil
	}
	subject := run.Subject{Kind: agent.ToolRun, Object: task, Namespace: task.Namespace, Name: task.Name, Role: defaultRole, Depth: 1, MaxDepth: standaloneDepth}
	record := ledger.Agent{UID: uid, Kind: "AgentTask", Namespace: task.Namespace, Name: task.Name, Root: uid, Depth: 1, CreatedAt: task.CreationTimestamp.Time}
	if task.Spec.Chat != "" {
		var chat v1alpha1.AgentChat
		if err := r.Client.Get(ctx, types.NamespacedName{Namespace: task.Namespace, Name: task.Spec.Chat}, &chat); err != nil {
			return fmt.Errorf("get chat %s/%s: %w", task.Namespace, task.Spec.Chat, err)
		}
		subject.Role = chat.Spec.Role
		record.Chat, record.Root, record.Parent = chat.Name, string(chat.UID), string(chat.UID)
	}
	record.Role = subject.Role
	resolved, err := r.Runner.Resolve(ctx, subject)
	if err != nil {
		return err
	}
	config := resolved.Config
	config.Call = &agent.PlannedCall{Tool: task.Spec.Tool}
	if task.Spec.Arguments != nil {
		config.Call.Arguments = task.Spec.Arguments.Raw
	}
	if task.Spec.Chat == "" {
		config.Role.Approval, config.Role.ApprovalTools = agent.ApproveNever, nil // who created the task asked for this very call
	}
	if task.Spec.Limits != nil && task.Spec.Limits.MaxDurationSeconds != nil {
		config.Limits.MaxDuration = agent.Millis(*task.Spec.Limits.MaxDurationSeconds) * 1000
	}
	return r.Runner.Engine.Start(record, agent.Started{Config: config})
}
