// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/poke"
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/engine"
)

// wakers wake the controllers when something in process has moved on.
type wakers struct {
	chats, messages, tasks, agents, servers *poke.Queue
	// chatBegan is told of chats that take messages from now on.
	chatBegan func(context.Context, types.NamespacedName)
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
		add(w.agents, name)
	}
	add(w.tasks, name)
	if c.Agent.Chat != "" && run.Asked(c) {
		w.chats.Add(types.NamespacedName{Namespace: c.Agent.Namespace, Name: c.Agent.Chat})
	}
}
