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
	"github.com/nestor-dev/nestor/internal/controller/resolve"
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
		if err = r.Runner.Find(ctx, client.ObjectKeyFromObject(task), &sub); apierrors.IsNotFound(err) {
			return failed(v1alpha1.ErrorCancelled, "Its sub-agent was deleted.") // to delete work is to cancel it
		}
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

// cannotRun says why a task ends without ever having had, or having lost, somebody who does its work.
type cannotRun struct{ v1alpha1.RunError }

// Error implements error.
func (e *cannotRun) Error() string { return e.Message }

func failed(kind v1alpha1.ErrorKind, format string, args ...any) error {
	return &cannotRun{v1alpha1.RunError{Kind: kind, Message: fmt.Sprintf(format, args...)}}
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
	if depth > maxDepth {
		return failed(v1alpha1.ErrorDepthLimit, "Its sub-agent would have the depth %d, and the limit is %d: delegate less deeply, or raise limits.maxDepth of the chat.", depth, maxDepth)
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
	err = r.Client.Create(ctx, sub)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsInvalid(err):
		return failed(v1alpha1.ErrorInvalidSpec, "%s", err)
	}
	return fmt.Errorf("create sub-agent %s/%s: %w", task.Namespace, task.Name, err)
}

// chat is the chat of a task. One that does not exist yet is waited for.
func (r *Reconciler) chat(ctx context.Context, task *v1alpha1.AgentTask) (*v1alpha1.AgentChat, error) {
	var chat v1alpha1.AgentChat
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: task.Namespace, Name: task.Spec.Chat}, &chat)
	if apierrors.IsNotFound(err) {
		return nil, &resolve.Missing{Reason: v1alpha1.ReasonChatNotFound,
			Message: fmt.Sprintf("Create the AgentChat %q in the namespace %s.", task.Spec.Chat, task.Namespace)}
	}
	if err != nil {
		return nil, fmt.Errorf("get chat %s/%s: %w", task.Namespace, task.Spec.Chat, err)
	}
	return &chat, nil
}

// chatModel is the provider that a chat gives to agents whose role names none. Its model is the orchestrator's own.
func (r *Reconciler) chatModel(ctx context.Context, task *v1alpha1.AgentTask, found role.Role) (provider, model string, err error) {
	if found.ModelProvider != "" {
		return found.ModelProvider, found.Model, nil
	}
	chat, err := r.chat(ctx, task)
	if err != nil {
		return "", "", err
	}
	return chat.Spec.ModelProvider, found.Model, nil
}

// depth is how deep a task's agent is, and how deep it may be.
func (r *Reconciler) depth(ctx context.Context, task *v1alpha1.AgentTask) (depth, limit int32, err error) {
	depth, limit = 1, standaloneDepth
	if name := task.Labels[v1alpha1.LabelParent]; name != "" {
		var parent v1alpha1.SubAgent
		err := r.Client.Get(ctx, types.NamespacedName{Namespace: task.Namespace, Name: name}, &parent)
		if apierrors.IsNotFound(err) {
			return 0, 0, &resolve.Missing{Reason: v1alpha1.ReasonSubAgentNotFound,
				Message: fmt.Sprintf("The label %s names the sub-agent %q, which does not exist here.", v1alpha1.LabelParent, name)}
		}
		if err != nil {
			return 0, 0, fmt.Errorf("get the parent of task %s/%s: %w", task.Namespace, task.Name, err)
		}
		depth, limit = parent.Spec.Depth+1, parent.Spec.Limits.MaxDepth
	}
	if task.Spec.Chat != "" {
		chat, err := r.chat(ctx, task)
		if err != nil {
			return 0, 0, err
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
		chat, err := r.chat(ctx, task)
		if err != nil {
			return err
		}
		subject.Role = chat.Spec.Role
		record.Chat, record.Root, record.Parent = chat.Name, string(chat.UID), string(chat.UID)
		if state, _, err = r.Runner.State(ctx, record.Parent); err != nil {
			return err
		}
	}
	record.Role = subject.Role
	resolved, err := r.Runner.Resolve(ctx, subject)
	if err != nil {
		return err
	}
	config := resolved.Config
	config.Origin = state.OriginOf(task.Name)
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
