// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// deletionFact is delivered when the object of an agent, or of one of its ancestors, was deleted.
var deletionFact = agent.Cancelled{By: "deletion"}

// End cancels an agent whose object was deleted, and everything below it. Effects in flight are stopped, and the ledger records
// the agents as cancelled. That includes orchestrators, which never end by themselves. The garbage collector may run much later,
// or never.
func (e *Engine) End(uid string) error {
	e.slots.release(uid)
	return e.enqueue(uid, delivery{fact: deletionFact, end: true})
}

// Abandon cancels an agent without an owner, and everything below it. Its own object still exists and shows the outcome.
func (e *Engine) Abandon(ctx context.Context, uid string) error {
	record, err := e.Lookup(ctx, uid)
	if err != nil {
		return fmt.Errorf("read agent %s: %w", uid, err)
	}
	if err := e.enqueue(uid, delivery{fact: deletionFact}); err != nil {
		return err
	}
	e.endBelow(record)
	return nil
}

// LiveNamed returns the live agents of objects with this name. Several objects may have had the name one after the other.
func (e *Engine) LiveNamed(ctx context.Context, kind, namespace, name string) ([]ledger.Agent, error) {
	filter := ledger.AgentFilter{Scope: ledger.Scope{Namespace: namespace}, Kind: kind, Name: name, Live: true}
	list, err := e.options.Ledger.Agents(ctx, filter, ledger.Page{})
	if err != nil {
		return nil, fmt.Errorf("list live agents of %s %s/%s: %w", kind, namespace, name, err)
	}
	return list.Items, nil
}

// endBelow cancels the live agents below one that was ended with its object. Their objects may still exist, so they end as after
// any other cancel. After a crash, Recover detects that their parent has ended.
func (e *Engine) endBelow(gone ledger.Agent) {
	below, err := e.liveBelow(gone)
	if err != nil {
		if e.ctx.Err() != nil {
			return
		}
		e.options.ReportError(fmt.Errorf("cancel the agents below %s: %w", gone.UID, err))
		time.AfterFunc(e.options.LedgerRetryDelay, func() { e.endBelow(gone) })
		return
	}
	for _, uid := range below {
		_ = e.enqueue(uid, delivery{fact: deletionFact}) // after Close the next engine does it
	}
}

// liveBelow returns the live agents below one, parents first.
func (e *Engine) liveBelow(top ledger.Agent) ([]string, error) {
	return e.agentsBelow(top, ledger.AgentFilter{Scope: ledger.Scope{Root: top.Root}, Live: true})
}

// agentsBelow returns the agents below one that match a filter, parents first.
func (e *Engine) agentsBelow(top ledger.Agent, filter ledger.AgentFilter) ([]string, error) {
	children := map[string][]string{}
	err := e.eachAgent(e.ctx, filter, func(a ledger.Agent) error {
		children[a.Parent] = append(children[a.Parent], a.UID)
		return nil
	})
	if err != nil {
		return nil, err
	}
	below := children[top.UID]
	for i := 0; i < len(below); i++ {
		below = append(below, children[below[i]]...)
	}
	return below, nil
}

// eachAgent calls do with every recorded agent that matches a filter.
func (e *Engine) eachAgent(ctx context.Context, filter ledger.AgentFilter, do func(ledger.Agent) error) error {
	page := ledger.Page{Limit: ledger.MaxLimit}
	for more := true; more; more = page.Cursor != "" {
		list, err := e.options.Ledger.Agents(ctx, filter, page)
		if err != nil {
			return fmt.Errorf("list agents: %w", err)
		}
		for _, a := range list.Items {
			if err := do(a); err != nil {
				return err
			}
		}
		page.Cursor = list.Next
	}
	return nil
}

// cancelIfOrphaned adds a cancel to a batch that starts an agent whose parent was ended with its object.
func (a *actor) cancelIfOrphaned(batch []delivery) []delivery {
	for _, d := range batch {
		if d.create == nil || d.create.Parent == "" {
			continue
		}
		if parent, err := a.engine.Lookup(a.engine.ctx, d.create.Parent); err == nil && !parent.Live() {
			return append(batch, delivery{fact: deletionFact})
		}
	}
	return batch
}

// checkParent checks the parent of an agent that was just started or taken over: it may have been ended with its object, or may
// have cancelled this agent. A parent records that before it looks for agents below it, and this agent is recorded before it
// checks its parent, so at least one of them sees the other.
func (a *actor) checkParent(r *stepResult) {
	if r.record.Parent == "" || r.batch.Create == nil && !r.takeOver || r.next.Phase.Terminal() {
		return
	}
	fact, err := a.parentEndedFact(r)
	if err != nil && a.engine.ctx.Err() == nil {
		a.engine.options.ReportError(fmt.Errorf("check the parent of agent %s: %w", a.uid, err))
		time.AfterFunc(a.engine.options.LedgerRetryDelay, func() { a.checkParent(r) })
		return
	}
	if fact != nil {
		_ = a.engine.enqueue(a.uid, delivery{fact: fact}) // after Close the next engine checks again
	}
}

// parentEndedFact returns the fact for an agent that its parent has cancelled, or whose parent has ended, or nil.
func (a *actor) parentEndedFact(r *stepResult) (agent.Fact, error) {
	state, err := a.engine.View(a.engine.ctx, r.record.Parent)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case state.RejectsChild(r.next.Config.ChildName()):
		return agent.Cancelled{By: "its parent " + state.Config.Name}, nil
	case r.batch.Create == nil:
		return nil, nil // Recover has checked for ended parents
	}
	parent, err := a.engine.options.Ledger.Agent(a.engine.ctx, r.record.Parent)
	if err != nil || parent.Live() {
		return nil, err
	}
	return deletionFact, nil
}
