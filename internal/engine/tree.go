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

// deletionFact is delivered when the object of an agent, or of one of its ancestors, was deleted.
var deletionFact = agent.Cancelled{User: "deletion"}

// ending is an agent that ends with its object, or with one above it.
type ending struct {
	uid      string
	delivery delivery
	// facts are delivered after it.
	facts []agent.Fact
}

// End cancels an agent whose object was deleted, and everything below it. Effects in flight are stopped, and the ledger records
// the agents as cancelled. That includes orchestrators, which never end on their own. The garbage collector may run much later,
// or never.
//
// The objects of a tree are deleted in an order that no watch preserves, so the agents above whose objects were deleted too end
// first. Otherwise they would receive the end of this agent as the result of a child, and continue.
func (e *Engine) End(ctx context.Context, uid string) error {
	e.slots.Release(uid)
	record, err := e.options.Ledger.Agent(ctx, uid)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return fmt.Errorf("read agent %s: %w", uid, err)
	}
	var endings []ending
	if err == nil && record.Live() {
		if endings, err = e.deletedFrom(ctx, record.Parent); err != nil {
			return err
		}
	}
	return e.endInOrder(append(endings, ending{uid: uid, delivery: delivery{fact: deletionFact, end: true}}))
}

// EndIfDeleted cancels an agent, and everything below it, if its object or one above it was deleted, and reports whether that is
// so. An agent whose own object still exists ends as after any other cancel, because its status shows the outcome. It gets the facts
// after the cancel: it waits for the ends of its children, and must not act on them.
func (e *Engine) EndIfDeleted(ctx context.Context, uid string, facts ...agent.Fact) (bool, error) {
	endings, err := e.deletedFrom(ctx, uid)
	if err != nil || len(endings) == 0 {
		return false, err
	}
	if last := &endings[len(endings)-1]; last.uid == uid && !last.delivery.end {
		last.facts = facts
	}
	return true, e.endInOrder(endings)
}

// deletedFrom returns the live agents from one upwards whose objects were deleted, or are below a deleted one. The topmost is
// the first.
func (e *Engine) deletedFrom(ctx context.Context, uid string) ([]ending, error) {
	var endings []ending
	for uid != "" {
		record, err := e.options.Ledger.Agent(ctx, uid)
		if errors.Is(err, ledger.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read agent %s: %w", uid, err)
		}
		deleted, above, err := e.options.Deleted(ctx, record)
		if err != nil {
			return nil, fmt.Errorf("find the object of agent %s: %w", uid, err)
		}
		if !deleted && !above {
			break
		}
		if record.Live() {
			endings = append(endings, ending{uid: uid, delivery: delivery{fact: deletionFact, end: deleted}})
		}
		uid = record.Parent
	}
	slices.Reverse(endings)
	return endings, nil
}

// endInOrder delivers each ending after the one above it was recorded. After a crash in between, the next engine reads again
// which objects were deleted.
func (e *Engine) endInOrder(endings []ending) error {
	first, below := endings[0], endings[1:]
	if len(below) > 0 {
		first.delivery.onRecorded = func(err error) {
			if err != nil && e.checkOwned() != nil || e.ctx.Err() != nil {
				return
			}
			go func() { _ = e.endInOrder(below) }() // the lock of the agent above may be held; after Close the next engine does it
		}
	}
	together := []delivery{first.delivery}
	for _, fact := range first.facts {
		together = append(together, delivery{fact: fact})
	}
	return e.enqueue(first.uid, together...)
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

// endBelow cancels the live agents below one that was ended with its object, each after its parent. Their objects may still exist, so
// they end as after any other cancel. After a crash, Recover detects that their parent has ended.
func (e *Engine) endBelow(ended ledger.Agent) {
	children, err := e.childrenByParent(ledger.AgentFilter{Scope: ledger.Scope{Root: ended.Root}, Live: true})
	if err != nil {
		if e.ctx.Err() != nil {
			return
		}
		e.options.ReportError(fmt.Errorf("cancel the agents below %s: %w", ended.UID, err))
		time.AfterFunc(e.options.LedgerRetryDelay, func() { e.endBelow(ended) })
		return
	}
	e.endChildren(ended.UID, children)
}

func (e *Engine) endChildren(parent string, children map[string][]string) {
	for _, uid := range children[parent] {
		d := delivery{fact: deletionFact}
		if len(children[uid]) > 0 {
			d.onRecorded = func(error) { go e.endChildren(uid, children) } // the lock of the agent may be held
		}
		_ = e.enqueue(uid, d) // after Close the next engine does it
	}
}

// liveBelow returns the live agents below one, parents first.
func (e *Engine) liveBelow(top ledger.Agent) ([]string, error) {
	return e.agentsBelow(top, ledger.AgentFilter{Scope: ledger.Scope{Root: top.Root}, Live: true})
}

// agentsBelow returns the agents below one that match a filter, parents first.
func (e *Engine) agentsBelow(top ledger.Agent, filter ledger.AgentFilter) ([]string, error) {
	children, err := e.childrenByParent(filter)
	if err != nil {
		return nil, err
	}
	below := children[top.UID]
	for i := 0; i < len(below); i++ {
		below = append(below, children[below[i]]...)
	}
	return below, nil
}

// childrenByParent returns the UIDs of the agents that match a filter, by the UID of their parent.
func (e *Engine) childrenByParent(filter ledger.AgentFilter) (map[string][]string, error) {
	children := map[string][]string{}
	err := e.eachAgent(e.ctx, filter, func(a ledger.Agent) error {
		children[a.Parent] = append(children[a.Parent], a.UID)
		return nil
	})
	return children, err
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
// checks its parent, so at least one of them finds the other.
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
		return agent.Cancelled{User: "its parent " + state.Config.Name}, nil
	case r.batch.Create == nil:
		return nil, nil // Recover has checked for ended parents
	}
	parent, err := a.engine.options.Ledger.Agent(a.engine.ctx, r.record.Parent)
	if err != nil || parent.Live() {
		return nil, err
	}
	return deletionFact, nil
}
