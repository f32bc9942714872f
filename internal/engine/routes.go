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
//	to the parent           ChildFinished, ChildWaits
//	to the root             Asked, AskResolved
//	to a child              Cancelled
//	to the agent that asked Answered, Decided (by an allowance)
//
// A notification is sent after the step that causes it was recorded, and is not durable itself: after a crash it is
// sent again when the agents are taken over; see missed.go. Every notification therefore follows from the recorded
// state of one of the two agents, and repeated ones are ignored.

// route sends the notification that an effect stands for. It reports false if the effect is not a notification.
func (a *actor) route(r *stepResult, e agent.Effect) bool {
	switch e := e.(type) {
	case agent.AskPerson:
		if r.record.Chat != "" { // a standalone task shows the question in its status
			a.engine.notify(r.record.Root, askedFact(a.uid, r.next, e))
		}
	case agent.CancelChild:
		a.engine.CancelChild(a.uid, r.record.Name, e.Child) // a child that has not started yet checks its parent when it starts
	case agent.SendItem:
		if e.Item.Kind != agent.ItemReply && e.Item.Kind != agent.ItemDecision {
			return false
		}
		a.engine.forwardReply(r.record, e.Item)
	default:
		return false
	}
	return true
}

// notify delivers a fact from one agent to another. After Close nothing is lost: the next engine sends it again.
func (e *Engine) notify(uid string, fact agent.Fact) {
	if err := e.Deliver(uid, fact); err != nil && !errors.Is(err, ErrClosed) {
		e.options.ReportError(fmt.Errorf("notify agent %s of %s: %w", uid, agent.FactType(fact), err))
	}
}

func askedFact(uid string, s agent.State, e agent.AskPerson) agent.Asked {
	display := s.Config.Role.Display()
	if s.Config.Kind == agent.ToolRun && s.Config.ToolCall != nil {
		display = s.Config.ToolCall.Tool
	}
	return agent.Asked{
		Agent: s.Config.Name, UID: uid, Task: s.Config.ChildName(), Display: display, Call: e.Call, Kind: e.Kind, Text: e.Text, Tool: e.Tool,
		Arguments: e.Arguments, DenyRequesters: e.DenyRequesters, OfTool: e.OfTool, ExpireTime: e.ExpireTime, Timeout: e.Timeout, Editable: e.Editable,
		Labels: s.LabelNames(), Policy: e.Policy,
	}
}

// finishedFact reports the end of a child to its parent. A child whose object was deleted while its own children were
// running has no outcome.
func finishedFact(child string, s agent.State) agent.ChildFinished {
	outcome := agent.Outcome{Kind: agent.ErrorCancelled, Error: "it was deleted"}
	if s.Outcome != nil {
		outcome = *s.Outcome
	}
	if s.Config.Isolated {
		outcome = outcome.Isolated()
	}
	fact := agent.ChildFinished{Child: child, Outcome: outcome, Usage: s.Usage}
	if s.Budget.Used != s.Usage.Amount() {
		fact.Counted = s.Budget.Used
	}
	return fact
}

// notifyOthers reports the state after a step to the parent and to the orchestrator.
func (a *actor) notifyOthers(r *stepResult) {
	a.notifyResolved(r)
	a.notifyParent(r)
}

// notifyParent reports to the parent that this agent has ended, waits, or no longer waits.
func (a *actor) notifyParent(r *stepResult) {
	if r.record.Parent == "" {
		return
	}
	switch waits := r.next.Suspended(); {
	case r.ended():
		a.engine.notify(r.record.Parent, finishedFact(a.childName(r), r.next))
	case r.takeOver || waits != r.before.Suspended():
		a.engine.notify(r.record.Parent, agent.ChildWaits{Child: r.next.Config.ChildName(), Waiting: waits})
	}
}

// ended reports whether the agent has ended, or was ended with its object.
func (r *stepResult) ended() bool {
	return r.end || r.next.Phase.Terminal() || r.next.Phase != agent.PhaseNew && !r.record.Live()
}

// childName returns the name of the agent in its parent's state. The history of a quarantined agent may have lost it;
// then it is read from the parent's state.
func (a *actor) childName(r *stepResult) string {
	name := r.next.Config.ChildName()
	if r.next.Outcome == nil || r.next.Outcome.Kind != agent.ErrorHistoryLost {
		return name
	}
	parent, err := a.engine.View(a.engine.ctx, r.record.Parent)
	if err != nil {
		return name
	}
	if child, ok := pendingChildren(parent).find(r.record.Name); ok {
		return child
	}
	return name
}

// notifyResolved reports to the orchestrator which asks of this agent are resolved.
//
// After a take-over it is unknown which notifications were sent, and a quarantined agent may have lost its asks. In
// both cases all asks are closed that can no longer be open.
func (a *actor) notifyResolved(r *stepResult) {
	if r.record.Chat == "" {
		return
	}
	before := agent.PendingAsks(r.before)
	if r.ended() {
		if r.takeOver || r.quarantine || len(before) > 0 {
			a.engine.notify(r.record.Root, agent.AskResolved{Agent: r.record.Name, AgentEnded: true})
		}
		return
	}
	open := agent.PendingAsks(r.next)
	for _, ask := range before {
		if !contains(open, ask.Call) {
			a.engine.notify(r.record.Root, agent.AskResolved{Agent: r.next.Config.Name, Call: ask.Call, Expired: slices.Contains(r.expired, ask.Call)})
		}
	}
	if r.takeOver {
		a.engine.closeResolvedAsks(r.record)
	}
}

// closeResolvedAsks closes the asks of an agent that are open in its orchestrator's state but not in its own. The
// orchestrator is read first, so that an ask added in between is not closed.
func (e *Engine) closeResolvedAsks(askingAgent ledger.Agent) {
	root, err := e.View(e.ctx, askingAgent.Root)
	var state agent.State
	if err == nil {
		state, err = e.View(e.ctx, askingAgent.UID)
	}
	if err != nil {
		if !errors.Is(err, ledger.ErrNotFound) && e.ctx.Err() == nil {
			time.AfterFunc(e.options.LedgerRetryDelay, func() { e.closeResolvedAsks(askingAgent) })
		}
		return
	}
	asks := agent.PendingAsks(state)
	for _, ask := range root.Asks {
		own := ask.UID == askingAgent.UID || ask.UID == "" && ask.Agent == askingAgent.Name
		if own && ask.Open && !contains(asks, ask.Call) {
			e.notify(askingAgent.Root, agent.AskResolved{Agent: ask.Agent, Call: ask.Call})
		}
	}
}

func contains(asks []agent.AskPerson, call string) bool {
	return slices.ContainsFunc(asks, func(ask agent.AskPerson) bool { return ask.Call == call })
}

// forwardReply delivers an answer or a decision to the agent that asked. The item stays in the outbox until the fact is
// durable; it is dropped if the agent is not recorded. Failures are retried.
func (e *Engine) forwardReply(root ledger.Agent, item agent.Item) {
	key := root.UID + "/" + item.ID
	if _, inFlight := e.forwarding.LoadOrStore(key, true); inFlight {
		return
	}
	done := func(err error) {
		e.forwarding.Delete(key)
		switch {
		case err == nil || errors.Is(err, ledger.ErrNotFound):
			e.notify(root.UID, agent.ItemSent{ID: item.ID})
		case e.ctx.Err() == nil:
			time.AfterFunc(e.options.LedgerRetryDelay, func() { e.forwardReply(root, item) })
		}
	}
	if err := e.enqueue(item.UID, delivery{fact: outboxFact(item), onRecorded: done}); err != nil {
		done(err)
	}
}

func outboxFact(item agent.Item) agent.Fact {
	if item.Kind == agent.ItemDecision {
		return agent.Decided{
			Call: item.Call, Approve: true, Comment: item.Text, Digest: item.Digest, User: item.User, Message: item.Message, Allowance: item.Allowance,
		}
	}
	return agent.Answered{Call: item.Call, Text: item.Text, User: item.User, Images: item.Images, Labels: item.Labels}
}

// HasStarted reports whether the agent of a child is recorded.
func (e *Engine) HasStarted(ctx context.Context, parent, child string) (bool, error) {
	if _, live := e.directory.findChild(parent, child); live {
		return true, nil
	}
	record, ok := e.directory.find(parent)
	if !ok {
		var err error
		if record, err = e.options.Ledger.Agent(ctx, parent); err != nil {
			return false, fmt.Errorf("look up agent %s: %w", parent, err)
		}
	}
	named, err := e.options.Ledger.Agents(ctx, ledger.AgentFilter{Scope: ledger.Scope{Namespace: record.Namespace}, Name: child}, ledger.Page{})
	if err != nil {
		return false, fmt.Errorf("look for child %s of agent %s: %w", child, parent, err)
	}
	if len(named.Items) == 0 || slices.ContainsFunc(named.Items, func(a ledger.Agent) bool { return a.Parent == parent }) {
		return len(named.Items) > 0, nil
	}
	found := false // an unrelated agent may have the name
	err = e.eachAgent(ctx, childFilter(record), func(a ledger.Agent) error {
		found = found || agent.MatchesChildName(a.Name, child)
		return nil
	})
	return found, err
}

// CancelChild cancels a child of an agent. It reports false if no such child is live.
func (e *Engine) CancelChild(parent, parentName, child string) bool {
	uid, live := e.directory.findChild(parent, child)
	if live {
		e.notify(uid, agent.Cancelled{User: "its parent " + parentName})
	}
	return live
}
