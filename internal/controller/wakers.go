// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/poke"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// wakers enqueue objects when the state of an agent or session in this process changes.
type wakers struct {
	chats, messages, tasks, agents, servers *poke.Queue
	// chatBegan is called for each chat that starts to accept messages.
	chatBegan func(context.Context, types.NamespacedName)
	// find finds a live agent.
	find func(uid string) (ledger.Agent, bool)
}

// providerWaitChanged enqueues the objects whose status shows that a model call waits for its provider, or no longer waits.
func (w *wakers) providerWaitChanged(a ledger.Agent) {
	name := types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	if a.Kind == "AgentChat" {
		w.chats.AddDelayed(name)
		return
	}
	w.agents.AddDelayed(name)
	w.tasks.AddDelayed(w.taskOf(a))
}

// taskOf returns the task of a sub-agent. Their names differ if the sub-agent's name was taken.
func (w *wakers) taskOf(a ledger.Agent) types.NamespacedName {
	if known, ok := w.find(a.UID); ok {
		a = known // the directory names the task
	}
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
}

// stepped enqueues the objects that show an agent's step or act on it: at once if a person or parent waits for it, otherwise within
// about a second. This bounds the reconciles and writes of an agent, however fast it steps.
func (w *wakers) stepped(c engine.Change) {
	name := types.NamespacedName{Namespace: c.Agent.Namespace, Name: c.Agent.Name}
	add := (*poke.Queue).AddDelayed
	if isUrgent(c) {
		add = (*poke.Queue).Add
	}
	switch c.Agent.Kind {
	case "AgentChat":
		add(w.chats, name)
		if c.Before.Phase == agent.PhaseNew {
			w.chatBegan(context.Background(), name)
		}
		return
	case "SubAgent":
		if c.After.Phase.Terminal() { // users watch the task: its end is written before the agent's
			w.agents.AddDelayed(name)
		} else {
			add(w.agents, name)
		}
	}
	add(w.tasks, types.NamespacedName{Namespace: c.Agent.Namespace, Name: c.After.Config.ChildName()})
	if changesAsks(c) {
		w.asksChanged(c.Agent)
	}
}

// ledgerBlockChanged enqueues the objects whose status shows that the ledger blocks an agent, or no longer blocks it.
func (w *wakers) ledgerBlockChanged(a ledger.Agent) {
	name := types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	switch a.Kind {
	case "AgentChat":
		w.chats.AddDelayed(name)
	case "SubAgent":
		w.agents.AddDelayed(name)
		w.tasks.AddDelayed(w.taskOf(a))
	default:
		w.tasks.AddDelayed(name)
	}
}

// asksChanged enqueues the standalone task at the root of a tree in which an ask was opened or resolved. The orchestrator of a chat receives
// asks inside the engine.
func (w *wakers) asksChanged(a ledger.Agent) {
	if a.Chat != "" {
		return
	}
	if top, ok := w.find(a.Root); ok && a.Root != a.UID {
		w.tasks.Add(types.NamespacedName{Namespace: top.Namespace, Name: top.Name})
	}
}

// wakeAll enqueues every chat, and every task, sub-agent and message that has not ended.
func (w *wakers) wakeAll(ctx context.Context, reader client.Reader) error {
	var chats v1alpha1.AgentChatList
	var tasks v1alpha1.AgentTaskList
	var agents v1alpha1.SubAgentList
	var messages v1alpha1.AgentMessageList
	for _, list := range []client.ObjectList{&chats, &tasks, &agents, &messages} {
		if err := reader.List(ctx, list); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
	}
	for i := range chats.Items {
		w.chats.Add(client.ObjectKeyFromObject(&chats.Items[i]))
	}
	for i := range tasks.Items {
		if tasks.Items[i].Status.CompletionTime == nil {
			w.tasks.Add(client.ObjectKeyFromObject(&tasks.Items[i]))
		}
	}
	for i := range agents.Items {
		if agents.Items[i].Status.CompletionTime == nil {
			w.agents.Add(client.ObjectKeyFromObject(&agents.Items[i]))
		}
	}
	for i := range messages.Items {
		if messages.Items[i].Status.Phase == v1alpha1.MessagePending || messages.Items[i].Status.Phase == "" {
			w.messages.Add(client.ObjectKeyFromObject(&messages.Items[i]))
		}
	}
	return nil
}
