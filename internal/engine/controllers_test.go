// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// reconcile acts as the controllers do for an agent: it creates its children and posts. It may run at any time and repeatedly,
// but not concurrently for the same agent.
func (w *world) reconcile(uid string) {
	if w.noControllers.Load() {
		return
	}
	lock, _ := w.reconciling.LoadOrStore(uid, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	e := w.current()
	s, err := e.View(context.Background(), uid)
	if err != nil {
		return
	}
	w.mu.Lock()
	self := w.agents[s.Config.Name]
	w.mu.Unlock()
	for _, effect := range agent.Outstanding(s) {
		switch effect := effect.(type) {
		case agent.StartChild:
			w.startChild(self, s, effect.Child)
		case agent.CancelChild:
			w.cancelUnstarted(self, effect.Child)
		case agent.AskPerson:
			w.decide(self, effect)
		case agent.SendItem:
			w.sendItem(e, uid, effect.Item)
		}
	}
	w.mu.Lock()
	w.changed.Broadcast()
	w.mu.Unlock()
}

// cancelUnstarted ends a child that was never created.
func (w *world) cancelUnstarted(parent ledger.Agent, child string) {
	w.mu.Lock()
	_, created := w.agents[child]
	w.mu.Unlock()
	if !created {
		w.deliver(parent.UID, agent.ChildFinished{Child: child, Outcome: agent.Outcome{Kind: agent.ErrorCancelled}})
	}
}

func (w *world) startChild(parent ledger.Agent, s agent.State, spec agent.ChildSpec) {
	if spec.Name == w.stuck {
		w.mu.Lock()
		w.agents[spec.Name] = ledger.Agent{}
		w.mu.Unlock()
		return
	}
	kind, depth := agent.SubAgent, s.Config.Depth+1
	c := config(kind, spec.Name, spec.Role, depth)
	c.Task = agent.Task{Instruction: spec.Task, Arguments: spec.Arguments, ContextFiles: spec.ContextFiles, ContextMode: spec.Context}
	if spec.Tool != "" {
		c = config(agent.ToolRun, spec.Name, "orchestrator", depth)
		c.ToolCall = &agent.ToolRunCall{Tool: spec.Tool, Arguments: spec.Arguments}
	}
	var inputTools []agent.Tool
	if c.Task.Inputs, inputTools = s.InputsFor(spec.Name); inputTools != nil {
		c.Tools = inputTools
	}
	c.ParentRole, c.Origin = s.Config.Role.Display(), s.ChildOrigin(spec.Name)
	w.begin(ledger.Agent{UID: "uid-" + spec.Name, Kind: "SubAgent", Namespace: "ns", Name: spec.Name, Parent: parent.UID, Root: parent.Root,
		Chat: "chat", Role: spec.Role, Depth: depth}, c)
}

// decide makes the test's decision about a call, if it has one.
func (w *world) decide(self ledger.Agent, e agent.AskPerson) {
	w.mu.Lock()
	approve := w.approve
	w.mu.Unlock()
	if e.Kind != agent.AskApproval || approve == nil {
		return
	}
	if decision := approve(e); decision != nil {
		w.deliver(self.UID, *decision)
	}
}

// sendItem sends an item of the outbox. It confirms to the engine that has the item: a later one may have started another
// conversation.
func (w *world) sendItem(e *Engine, uid string, item agent.Item) {
	if item.Kind == agent.ItemReply || item.Kind == agent.ItemDecision {
		return // the engine handles it
	}
	w.mu.Lock()
	switch item.Kind {
	case agent.ItemPost:
		if line := item.ID + " " + item.Text; !slices.Contains(w.posts, line) {
			w.posts = append(w.posts, line)
		}
	case agent.ItemHandled:
		w.handled = append(w.handled, item.Message)
	}
	w.mu.Unlock()
	w.deliverError(e.Deliver(uid, agent.ItemSent{ID: item.ID}))
}
