// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/agentquota"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// wakers enqueue objects when the state of an agent or session in this process changes.
type wakers struct {
	chats, messages, tasks, agents, servers, providers, roles, quotas, triggers, policies, evaluations, workspacePods *cluster.Queue
	// unreported holds the expired tasks whose parents have not recorded their outcome.
	unreported *cluster.Unresolved
	// notifications enqueues an object for which notifications may be missing; nil if this operator delivers none.
	notifications func(client.Object)
	// chatBegan is called for each chat that starts to accept messages.
	chatBegan func(context.Context, types.NamespacedName)
	find      func(uid string) (ledger.Agent, bool)
}

// workChanged enqueues the objects whose status shows something that is not in the state of an agent: that a model call
// waits for its provider, or the progress of a tool.
func (w *wakers) workChanged(a ledger.Agent) {
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
	if record, ok := w.find(a.UID); ok {
		a = record // the directory names the task
	}
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
}

// stepped enqueues the objects that show an agent's step or act on it: at once if a person or parent waits for it,
// otherwise within about a second. This bounds the reconciles and writes of an agent, however fast it steps.
func (w *wakers) stepped(c engine.Change) {
	name := types.NamespacedName{Namespace: c.Agent.Namespace, Name: c.Agent.Name}
	if slices.ContainsFunc(c.Events, isReport) || c.After.Phase.Terminal() {
		w.unreported.Retry(c.Agent.Namespace)
	}
	add := (*cluster.Queue).AddDelayed
	addTask := add
	switch {
	case c.After.Phase.Terminal() && !c.Before.Phase.Terminal():
		add = (*cluster.Queue).AddEnded
		if c.Agent.Kind != "SubAgent" { // the task of a sub-agent is enqueued when the status of the sub-agent shows the end
			addTask = add
		}
	case isUrgent(c):
		add = (*cluster.Queue).Add
		addTask = add
	}
	switch c.Agent.Kind {
	case "AgentChat":
		add(w.chats, name)
		if c.Before.Phase == agent.PhaseNew {
			w.chatBegan(context.Background(), name)
		}
		return
	case "SubAgent":
		add(w.agents, name)
	}
	addTask(w.tasks, types.NamespacedName{Namespace: c.Agent.Namespace, Name: c.After.Config.ChildName()})
	if changesAsks(c) {
		w.asksChanged(c.Agent)
	}
}

// isReport reports whether an event is the outcome of a child.
func isReport(e agent.Event) bool {
	_, ok := e.Fact.(agent.ChildFinished)
	return ok
}

// taskSettled enqueues a task that has ended and whose receivers were notified, and its trigger: they may delete it
// now.
func (w *wakers) taskSettled(task *v1beta1.AgentTask) {
	w.tasks.Add(client.ObjectKeyFromObject(task))
	if trigger := task.Labels[v1beta1.LabelTrigger]; trigger != "" {
		w.triggers.Add(types.NamespacedName{Namespace: task.Namespace, Name: trigger})
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

// asksChanged enqueues the standalone task at the root of a tree in which an ask was opened or resolved. The
// orchestrator of a chat receives asks inside the engine.
func (w *wakers) asksChanged(a ledger.Agent) {
	if a.Chat != "" {
		return
	}
	if top, ok := w.find(a.Root); ok && a.Root != a.UID {
		w.tasks.Add(types.NamespacedName{Namespace: top.Namespace, Name: top.Name})
	}
}

// wakeShards enqueues the objects of shards that this operator has just taken over: requests for them were dropped
// until then.
func (w *wakers) wakeShards(ctx context.Context, gate cluster.Gate, shards map[int]bool) error {
	reader := gate.Objects.Cache
	inTree := func(object client.Object) bool { return shards[gate.TreeShard(ctx, object)] }
	single := func(object client.Object) bool { return shards[gate.ObjectShard(object)] }
	for _, kind := range []struct {
		list  client.ObjectList
		holds func(client.Object) bool
		queue *cluster.Queue
	}{
		{&v1beta1.ModelProviderList{}, single, w.providers},
		{&v1beta1.ToolServerList{}, single, w.servers},
		{&v1beta1.AgentRoleList{}, single, w.roles},
		{&v1beta1.AgentTriggerList{}, single, w.triggers},
		{&v1beta1.ToolPolicyList{}, single, w.policies},
		{&v1beta1.AgentEvaluationList{}, single, w.evaluations},
		{&v1beta1.AgentChatList{}, inTree, w.chats},
		{&v1beta1.AgentTaskList{}, inTree, w.tasks},
		{&v1beta1.SubAgentList{}, inTree, w.agents},
		{&v1beta1.AgentMessageList{}, inTree, w.messages},
		{&corev1.PodList{}, inTree, w.workspacePods}, // the cache has only those of workspaces
	} {
		if err := reader.List(ctx, kind.list, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list %T: %w", kind.list, err)
		}
		err := meta.EachListItem(kind.list, func(item runtime.Object) error {
			if object, ok := item.(client.Object); ok && needsReconcile(object) && kind.holds(object) {
				kind.queue.Add(client.ObjectKeyFromObject(object))
				if w.notifications != nil {
					w.notifications(object)
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("read %T: %w", kind.list, err)
		}
	}
	return w.wakeQuotas(ctx, reader)
}

// wakeQuotas enqueues the namespaces with quotas.
func (w *wakers) wakeQuotas(ctx context.Context, reader client.Reader) error {
	var quotas v1beta1.AgentQuotaList
	if err := reader.List(ctx, &quotas, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the AgentQuotas: %w", err)
	}
	for i := range quotas.Items {
		w.quotas.Add(agentquota.Namespace(quotas.Items[i].Namespace))
	}
	return nil
}

// needsReconcile reports whether an object may need work when its shard is taken over. A task that has ended needs it
// if it expires.
func needsReconcile(object client.Object) bool {
	switch o := object.(type) {
	case *v1beta1.AgentMessage:
		return o.Status.Phase == v1beta1.MessagePending || o.Status.Phase == ""
	case *v1beta1.SubAgent:
		return o.Status.CompletionTime == nil
	}
	return true
}
