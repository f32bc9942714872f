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
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// wakers wake the controllers when something in process has moved on.
type wakers struct {
	chats, messages, tasks, agents, servers *poke.Queue
	// chatBegan is told of chats that take messages from now on.
	chatBegan func(context.Context, types.NamespacedName)
	// known finds a live agent.
	known func(uid string) (ledger.Agent, bool)
}

// waits wakes who shows that an agent's model call waits for its provider, or no longer does.
func (w *wakers) waits(a ledger.Agent) {
	name := types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	if a.Kind == "AgentChat" {
		w.chats.AddSoon(name)
		return
	}
	w.agents.AddSoon(name)
	w.tasks.AddSoon(w.taskOf(a))
}

// taskOf is the task of a sub-agent: the two have different names if the agent's was taken.
func (w *wakers) taskOf(a ledger.Agent) types.NamespacedName {
	if known, ok := w.known(a.UID); ok {
		a = known // the directory names the task
	}
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
}

// changed wakes who shows an agent's step, or brings about what it wants: at once if somebody waits for it, else within about a
// second. So an agent costs a bounded number of looks and writes, however fast it is.
func (w *wakers) changed(c engine.Change) {
	name := types.NamespacedName{Namespace: c.Agent.Namespace, Name: c.Agent.Name}
	add := (*poke.Queue).AddSoon
	if run.Urgent(c) {
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
		if c.After.Phase.Terminal() { // people and programs watch the task: when its end is written, the agent's turn comes
			w.agents.AddSoon(name)
		} else {
			add(w.agents, name)
		}
	}
	add(w.tasks, types.NamespacedName{Namespace: c.Agent.Namespace, Name: c.After.Config.ChildName()})
	if run.Asked(c) {
		w.asked(c.Agent)
	}
}

// blocked wakes who shows that the ledger keeps an agent from going on, or no longer does.
func (w *wakers) blocked(a ledger.Agent) {
	name := types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	switch a.Kind {
	case "AgentChat":
		w.chats.AddSoon(name)
	case "SubAgent":
		w.agents.AddSoon(name)
		w.tasks.AddSoon(w.taskOf(a))
	default:
		w.tasks.AddSoon(name)
	}
}

// asked wakes the standalone task at the top of a tree in which somebody asked something, or no longer does. A chat's orchestrator hears of
// it inside the engine.
func (w *wakers) asked(a ledger.Agent) {
	if a.Chat != "" {
		return
	}
	if top, ok := w.known(a.Root); ok && a.Root != a.UID {
		w.tasks.Add(types.NamespacedName{Namespace: top.Namespace, Name: top.Name})
	}
}

// all lets the controllers look at every chat, task and sub-agent that has not ended.
func (w *wakers) all(ctx context.Context, reader client.Reader) error {
	var chats v1alpha1.AgentChatList
	var tasks v1alpha1.AgentTaskList
	var agents v1alpha1.SubAgentList
	var messages v1alpha1.AgentMessageList
	for _, list := range []client.ObjectList{&chats, &tasks, &agents, &messages} {
		if err := reader.List(ctx, list); err != nil {
			return fmt.Errorf("list what there is: %w", err)
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
