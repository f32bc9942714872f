// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// RequestersOf returns the people who asked for the work of an agent: those of the chat or standalone task at the root of
// its tree.
func (r *Runner) RequestersOf(ctx context.Context, a ledger.Agent) (agent.Requesters, error) {
	if a.Chat != "" {
		var chat v1beta1.AgentChat
		if err := r.Client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Chat}, &chat); err != nil {
			return agent.Requesters{}, fmt.Errorf("get the chat %s/%s: %w", a.Namespace, a.Chat, err)
		}
		if string(chat.UID) != a.Root {
			return agent.Requesters{}, fmt.Errorf("the chat %s/%s was deleted", a.Namespace, a.Chat)
		}
		return r.Requesters(ctx, &chat)
	}
	root, _, err := r.State(ctx, a.Root)
	if err != nil {
		return agent.Requesters{}, err
	}
	var task v1beta1.AgentTask
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: root.Config.ChildName()}, &task); err != nil {
		return agent.Requesters{}, fmt.Errorf("get the task %s/%s: %w", a.Namespace, root.Config.ChildName(), err)
	}
	top, err := r.TaskUID(ctx, &task)
	if err != nil {
		return agent.Requesters{}, err
	}
	if top != a.Root {
		return agent.Requesters{}, fmt.Errorf("the task %s/%s was deleted", a.Namespace, task.Name)
	}
	return r.Requesters(ctx, &task)
}

// Requesters returns the people who asked for the work of a chat or standalone task.
func (r *Runner) Requesters(ctx context.Context, owner client.Object) (agent.Requesters, error) {
	uid := string(owner.GetUID())
	if chat, ok := owner.(*v1beta1.AgentChat); ok {
		state, _, err := r.State(ctx, uid)
		if err != nil {
			return agent.Requesters{}, fmt.Errorf("list the authors of the chat %s: %w", chat.Name, err)
		}
		if chat.Spec.User != "" {
			state.Requesters = state.Requesters.With(chat.Spec.User)
		}
		return r.authorsBelow(ctx, uid, state.Requesters)
	}
	task, ok := owner.(*v1beta1.AgentTask)
	if !ok {
		return agent.Requesters{}, fmt.Errorf("the requesters of a %T are unknown", owner)
	}
	requesters := agent.Requesters{}.With(task.Spec.User)
	if task.Spec.FireUser != "" {
		requesters = requesters.With(task.Spec.FireUser)
	}
	requesters.Trigger = task.Annotations[v1beta1.AnnotationFiring] != ""
	top, err := r.TaskUID(ctx, task)
	if err != nil {
		return requesters, err
	}
	return r.authorsBelow(ctx, top, requesters)
}

// authorsBelow adds the people who answered questions, or edited calls, of an agent or of the agents below it.
func (r *Runner) authorsBelow(ctx context.Context, top string, requesters agent.Requesters) (agent.Requesters, error) {
	record, err := r.Engine.Lookup(ctx, top)
	if err != nil {
		return requesters, fmt.Errorf("look up agent %s: %w", top, err)
	}
	below, err := r.TreeOf(ctx, record)
	if err != nil {
		return requesters, err
	}
	for _, one := range append(below, record) {
		state, started, err := r.State(ctx, one.UID)
		if err != nil {
			return requesters, fmt.Errorf("list the people who wrote to %s: %w", one.Name, err)
		}
		if started {
			requesters = requesters.Merge(state.Requesters)
		}
	}
	return requesters, nil
}

// TreeOf lists the agents below an agent, including those that have ended.
func (r *Runner) TreeOf(ctx context.Context, top ledger.Agent) ([]ledger.Agent, error) {
	children := map[string][]ledger.Agent{}
	for page := (ledger.Page{Limit: ledger.MaxLimit}); ; {
		list, err := r.Ledger.Agents(ctx, ledger.AgentFilter{Scope: ledger.Scope{Root: top.Root}}, page)
		if err != nil {
			return nil, fmt.Errorf("list the agents below %s: %w", top.Name, err)
		}
		for _, a := range list.Items {
			children[a.Parent] = append(children[a.Parent], a)
		}
		if page.Cursor = list.Next; page.Cursor == "" {
			break
		}
	}
	agents := children[top.UID]
	for i := 0; i < len(agents); i++ {
		agents = append(agents, children[agents[i].UID]...)
	}
	return agents, nil
}
