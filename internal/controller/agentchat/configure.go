// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentchat

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/agentconfig"
	"github.com/nestor-dev/nestor/internal/controller/agents"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/engine/slots"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/projection"
	"github.com/nestor-dev/nestor/internal/shard"
)

// start starts the orchestrator once all its references exist. lost is the reason for a new start if the chat was
// quarantined.
func (r *Reconciler) start(ctx context.Context, chat *v1beta1.AgentChat, lost *agent.HistoryLoss) (ctrl.Result, error) {
	if err := r.Runner.Engine.Blocked(string(chat.UID)); err != nil {
		return r.reportOutage(ctx, chat, err) // it starts when the ledger is available
	}
	anew := chat.Status.StartTime != nil || lost != nil
	if anew {
		if result, done, err := r.handleLostHistory(ctx, chat, lost); done || err != nil {
			return result, err
		}
	}
	config, namespaceUID, err := r.configure(ctx, chat, nil)
	condition, missing := status.FromMissing(chat.Generation, err)
	r.Unresolved.Set(client.ObjectKeyFromObject(chat), missing)
	if missing {
		next := chat.DeepCopy()
		next.Status = projection.ChatPending(chat.Status, condition, agents.Now())
		return r.Runner.Status.Write(ctx, chat, next, false)
	}
	if err != nil {
		return r.reportOutage(ctx, chat, err)
	}
	if anew {
		config.ConversationID = conversationID(chat.UID, time.Now())
	}
	return ctrl.Result{}, r.Runner.Engine.Start(ledger.Agent{
		UID: string(chat.UID), Kind: "AgentChat", Namespace: chat.Namespace, NamespaceUID: namespaceUID, Name: chat.Name, Root: string(chat.UID), Chat: chat.Name,
		ShardHash: shard.Hash(string(chat.UID)), Role: chat.Spec.Role, RoleRevision: config.Role.Revision, Provider: config.Provider, Model: config.Model, CreatedAt: chat.CreationTimestamp.Time,
	}, agent.Started{Config: config})
}

// reconfigure delivers the current configuration to a live orchestrator if the chat was edited, or if a role was
// created that the orchestrator may delegate to. No new turn starts while a reference is missing; the configuration is
// delivered again when the reference exists.
func (r *Reconciler) reconfigure(ctx context.Context, chat *v1beta1.AgentChat, s agent.State) error {
	r.Runner.Engine.SetSlotLimit(slots.Group{Key: slots.OfChat(string(chat.UID)), Limit: int(chat.Spec.Limits.MaxParallelTasks)})
	name := client.ObjectKeyFromObject(chat)
	absent := s.LatestConfig().MissingDelegates
	r.Unresolved.Set(name, s.Hold != nil || len(absent) > 0 || modelFailed(s)) // a repaired provider is shown
	if s.LatestGeneration() == chat.Generation && s.Hold == nil {
		appeared, err := r.anyExists(ctx, chat.Namespace, absent)
		if err != nil || !appeared {
			return err
		}
	}
	config, _, err := r.configure(ctx, chat, s.LatestConfig().Revisions)
	if condition, missing := status.FromMissing(chat.Generation, err); missing {
		r.Unresolved.Set(name, true)
		return r.Runner.Engine.Deliver(string(chat.UID), agent.Reconfigured{
			Hold: &agent.Hold{Generation: chat.Generation, Reason: condition.Reason, Message: condition.Message}})
	}
	if err != nil {
		return err
	}
	return r.Runner.Engine.Deliver(string(chat.UID), agent.Reconfigured{Config: &config})
}

func (r *Reconciler) anyExists(ctx context.Context, namespace string, roles []string) (bool, error) {
	for _, name := range roles {
		_, err := r.Runner.Finder.Role(ctx, namespace, name)
		var missing *resolve.Missing
		if err == nil || !errors.As(err, &missing) {
			return err == nil, err
		}
	}
	return false, nil
}

// configure resolves the spec of a chat with the revisions that it has pinned, and returns the configuration and the
// UID of its namespace. A missing reference is a *resolve.Missing.
func (r *Reconciler) configure(ctx context.Context, chat *v1beta1.AgentChat, pinned map[string]string) (agent.Config, string, error) {
	r.Runner.Finder.Begin(chat.Namespace)
	resolved, err := r.Runner.Config.Resolve(ctx, agentconfig.Subject{
		Kind: agent.Orchestrator, Object: chat, Namespace: chat.Namespace, Name: chat.Name, Role: chat.Spec.Role, Revisions: pinned,
		Provider: chat.Spec.ModelProvider, Model: chat.Spec.Model, MaxDepth: int(chat.Spec.Limits.MaxDepth), ChatLimits: &chat.Spec.Limits, Generation: chat.Generation,
	})
	if err != nil {
		return agent.Config{}, "", err
	}
	resolved.Config.AutoAnswer = autoAnswer(chat.Spec.AutoAnswer)
	return resolved.Config, resolved.NamespaceUID, nil
}

func autoAnswer(spec v1beta1.AutoAnswer) agent.AutoAnswer {
	return agent.AutoAnswer{
		Enabled: ptr.Deref(spec.Enabled, true), MinConfidence: int(ptr.Deref(spec.MinConfidence, 70)),
		MaxPerQuestion: int(ptr.Deref(spec.MaxPerQuestion, 2)),
	}
}
