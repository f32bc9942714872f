// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// The agents of a tree notify each other inside the engine, by UID:
//
//	to the parent   ChildFinished, ChildWaits
//	to the root     Asked, Settled
//	to a child      Cancelled
//	to an asker     Answered
//
// A notification is sent after the step that leads to it is on record, and is not durable itself: if the process dies first, it is sent
// again when the agents are taken over. So every notification follows from the recorded state of one of the two agents, and an
// agent that gets one twice ignores it.

// route sends what an effect of a step means for another agent. It reports false if the effect is no notification.
func (a *actor) route(r *recording, e agent.Effect) bool {
	switch e := e.(type) {
	case agent.AskPerson:
		if r.record.Chat != "" { // a standalone task shows the question in its status
			a.engine.notify(r.record.Root, askedFact(a.uid, r.next, e))
		}
	case agent.CancelChild:
		a.engine.CancelChild(a.uid, r.record.Name, e.Child) // one that has not begun yet looks at its parent when it begins
	case agent.Deliver:
		if e.Item.Kind != agent.ItemReply {
			return false
		}
		a.engine.forwardReply(r.record, e.Item)
	default:
		return false
	}
	return true
}

// notify delivers a fact from one agent to another. Nothing is lost if the engine is closed: whoever takes over sends it again.
func (e *Engine) notify(uid string, fact agent.Fact) {
	if err := e.Deliver(uid, fact); err != nil && !errors.Is(err, ErrClosed) {
		e.options.Trouble(fmt.Errorf("notify agent %s of %s: %w", uid, agent.FactType(fact), err))
	}
}

func askedFact(uid string, s agent.State, e agent.AskPerson) agent.Asked {
	display := s.Config.Role.Display()
	if s.Config.Kind == agent.ToolRun && s.Config.Call != nil {
		display = s.Config.Call.Tool
	}
	return agent.Asked{
		Agent: s.Config.Name, UID: uid, Task: s.Config.ChildName(), Display: display, Call: e.Call, Kind: e.Kind, Text: e.Text, Tool: e.Tool,
		Arguments: e.Arguments, Separation: e.Separation,
	}
}

// finishedFact is what a parent is told of a child that has ended. One whose object was deleted while it waited for its own children
// has no outcome.
func finishedFact(s agent.State) agent.ChildFinished {
	outcome := agent.Outcome{Kind: agent.KindCancelled, Error: "it was deleted"}
	if s.Outcome != nil {
		outcome = *s.Outcome
	}
	return agent.ChildFinished{Child: s.Config.ChildName(), Outcome: outcome, Usage: s.Usage}
}

// notifyParent tells the agent that asked for this one that it has ended, or that it waits, or no longer does.
func (a *actor) notifyParent(r *recording) {
	if r.record.Parent == "" {
		return
	}
	switch waits := r.next.Suspended(); {
	case r.end || r.next.Phase.Terminal():
		a.engine.notify(r.record.Parent, finishedFact(r.next))
	case r.takeOver || waits != r.before.Suspended():
		a.engine.notify(r.record.Parent, agent.ChildWaits{Child: r.next.Config.ChildName(), Waiting: waits})
	}
}

// notifySettled tells the orchestrator what this agent no longer needs a person for.
func (a *actor) notifySettled(r *recording) {
	before := agent.Asks(r.before)
	if len(before) == 0 || r.record.Chat == "" {
		return
	}
	gone := r.end || r.next.Phase.Terminal()
	open := map[string]bool{}
	for _, ask := range agent.Asks(r.next) {
		open[ask.Call] = !gone
	}
	for _, ask := range before {
		if !open[ask.Call] {
			a.engine.notify(r.record.Root, agent.Settled{Agent: r.next.Config.Name, Call: ask.Call, Gone: gone})
		}
	}
}

// forwardReply gives an agent the answer to its question. The reply leaves the outbox when the answer is durable; an agent that the
// ledger does not know needs none.
func (e *Engine) forwardReply(root ledger.Agent, item agent.Item) {
	uid, ok := e.asker(root.UID, item.UID, item.About)
	if !ok {
		e.notify(root.UID, agent.Delivered{ID: item.ID})
		return
	}
	recorded := func(err error) {
		if err == nil || errors.Is(err, ledger.ErrNotFound) {
			e.notify(root.UID, agent.Delivered{ID: item.ID})
			return
		}
		if e.ctx.Err() == nil {
			time.AfterFunc(e.options.RetryLedger, func() { e.forwardReply(root, item) })
		}
	}
	err := e.post(uid, delivery{fact: agent.Answered{Call: item.Call, Text: item.Text}, recorded: recorded})
	if err != nil && !errors.Is(err, ErrClosed) {
		e.options.Trouble(fmt.Errorf("forward a reply to agent %s: %w", uid, err))
	}
}

// asker is the UID of the agent that asked something. What earlier releases recorded has only the name of its task.
func (e *Engine) asker(root, uid, task string) (string, bool) {
	if uid != "" {
		return uid, true
	}
	return e.directory.named(root, task)
}

// catchUp tells an agent what others would have told it if the process had not died first: which children have ended, and which
// questions are settled. What an ended child used counts from this moment: until its parent has taken it over, nothing else would count
// it, and the others of the tree could spend it again.
func (e *Engine) catchUp(ctx context.Context, a *actor) error {
	record, state, err := a.view(ctx)
	if err != nil {
		return err
	}
	if state.Lost != nil {
		e.stopBelow(record) // the process may have died before it was done
	}
	if err := e.catchUpChildren(ctx, record, state); err != nil {
		return err
	}
	for _, ask := range state.Asks {
		if !ask.Open {
			continue
		}
		if err := e.catchUpAsk(ctx, record, ask); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) catchUpChildren(ctx context.Context, parent ledger.Agent, s agent.State) error {
	for _, child := range s.Children.Live {
		if child.Outcome != nil {
			continue
		}
		records, err := e.recordsOf(ctx, parent, child.Name)
		if err != nil {
			return err
		}
		for _, record := range records {
			if record.Live() {
				continue
			}
			if err := e.reportEnded(ctx, record); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordsOf finds the agents for a child that are on record. Mostly that is one with the child's name; only if somebody else's agent has, or
// had, that name, it may be one with a suffix.
func (e *Engine) recordsOf(ctx context.Context, parent ledger.Agent, child string) ([]ledger.Agent, error) {
	named, err := e.options.Ledger.Agents(ctx, ledger.AgentFilter{Scope: ledger.Scope{Namespace: parent.Namespace}, Name: child}, ledger.Page{})
	if err != nil {
		return nil, fmt.Errorf("look for child %s of agent %s: %w", child, parent.UID, err)
	}
	others := len(named.Items)
	records := slices.DeleteFunc(named.Items, func(a ledger.Agent) bool { return a.Parent != parent.UID })
	if len(records) > 0 || others == 0 {
		return records, nil
	}
	filter, page := ledger.AgentFilter{Scope: ledger.Scope{Root: parent.Root}, Parent: parent.UID}, ledger.Page{Limit: ledger.MaxLimit}
	for more := true; more; more = page.Cursor != "" {
		list, err := e.options.Ledger.Agents(ctx, filter, page)
		if err != nil {
			return nil, fmt.Errorf("list the children of agent %s: %w", parent.UID, err)
		}
		for _, a := range list.Items {
			if agent.NamedFor(a.Name, child) {
				records = append(records, a)
			}
		}
		page.Cursor = list.Next
	}
	return records, nil
}

// reportEnded tells the parent of an agent that has ended.
func (e *Engine) reportEnded(ctx context.Context, ended ledger.Agent) error {
	read, err := e.read(ctx, ended.UID, true)
	if err != nil {
		return fmt.Errorf("load agent %s: %w", ended.UID, err)
	}
	state := read.state
	if read.fault != nil {
		state = quarantinedState(state, *read.fault, ended.FinishedAt)
	}
	e.budgets.keep(ended, state)
	e.notify(ended.Parent, finishedFact(state))
	return nil
}

// catchUpAsk closes a question that its asker no longer waits for.
func (e *Engine) catchUpAsk(ctx context.Context, root ledger.Agent, ask agent.Ask) error {
	gone, waits := true, false
	if uid, ok := e.asker(root.UID, ask.UID, ask.Task); ok {
		state, err := e.View(ctx, uid)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return fmt.Errorf("look at agent %s, which asked for a person: %w", uid, err)
		}
		gone = err != nil || state.Phase.Terminal()
		waits = !gone && slices.ContainsFunc(agent.Asks(state), func(open agent.AskPerson) bool { return open.Call == ask.Call })
	}
	if !waits {
		e.notify(root.UID, agent.Settled{Agent: ask.Agent, Call: ask.Call, Gone: gone})
	}
	return nil
}

// HasBegun says whether the agent for a child of another agent is on record.
func (e *Engine) HasBegun(ctx context.Context, parent, child string) (bool, error) {
	if _, live := e.directory.child(parent, child); live {
		return true, nil
	}
	record, known := e.directory.find(parent)
	if !known {
		var err error
		if record, err = e.options.Ledger.Agent(ctx, parent); err != nil {
			return false, fmt.Errorf("look up agent %s: %w", parent, err)
		}
	}
	records, err := e.recordsOf(ctx, record, child)
	return len(records) > 0, err
}

// CancelChild tells a child of an agent that the agent wants it to stop. It reports false if no such child is at work.
func (e *Engine) CancelChild(parent, parentName, child string) bool {
	uid, live := e.directory.child(parent, child)
	if live {
		e.notify(uid, agent.Cancelled{By: "its parent " + parentName})
	}
	return live
}
