// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// recoverers is how many agents are read at a time when an engine starts.
const recoverers = 8

// Recover takes over the agents that have not finished: what is outstanding is performed, and write tools that had been
// started are told as unknown.
func (e *Engine) Recover(ctx context.Context) (int, error) {
	count := 0
	page := ledger.Page{Limit: ledger.MaxLimit}
	for {
		list, err := e.options.Ledger.Agents(ctx, ledger.AgentFilter{Live: true}, page)
		if err != nil {
			return count, fmt.Errorf("list the live agents: %w", err)
		}
		if err := e.takeOver(ctx, list.Items); err != nil {
			return count, err
		}
		count += len(list.Items)
		if list.Next == "" {
			e.recovered.Store(true)
			e.release()
			return count, nil
		}
		page.Cursor = list.Next
	}
}

// takeOver reads some agents and lets them hear that a new driver has taken over.
func (e *Engine) takeOver(ctx context.Context, records []ledger.Agent) error {
	var readers sync.WaitGroup
	errs := make(chan error, recoverers)
	next := make(chan string, len(records))
	for _, record := range records {
		next <- record.UID
	}
	close(next)
	for range recoverers {
		readers.Go(func() {
			for uid := range next {
				if err := e.takeOverOne(ctx, uid); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	readers.Wait()
	close(errs)
	return <-errs // nil if there is none
}

func (e *Engine) takeOverOne(ctx context.Context, uid string) error {
	a, err := e.actor(uid)
	if err != nil {
		return err
	}
	a.unload() // whoever was at work may have gone on since this state was read
	if err := a.load(ctx); err != nil {
		return err
	}
	if err := e.post(uid, delivery{takeOver: true, fresh: true}); err != nil {
		return err
	}
	return e.tellOfEnded(ctx, a)
}

// tellOfEnded tells an agent of its children that ended while nobody could tell it. What they used counts from this moment: until
// their parent has taken it over, nothing else would count it, and the others of the tree could spend it again.
func (e *Engine) tellOfEnded(ctx context.Context, a *actor) error {
	record, state, err := a.view(ctx)
	if err != nil {
		return err
	}
	for _, child := range state.Children.Live {
		if child.Outcome != nil {
			continue
		}
		found, err := e.options.Ledger.Agents(ctx, ledger.AgentFilter{Scope: ledger.Scope{Namespace: record.Namespace}, Name: child.Name}, ledger.Page{})
		if err != nil {
			return fmt.Errorf("look for child %s of agent %s: %w", child.Name, a.uid, err)
		}
		for _, known := range found.Items {
			if known.Parent != a.uid || known.Live() {
				continue
			}
			if err := e.tellOf(ctx, known); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellOf tells the parent of an agent that has ended.
func (e *Engine) tellOf(ctx context.Context, ended ledger.Agent) error {
	history, err := e.options.Ledger.Load(ctx, ended.UID)
	if err != nil {
		return fmt.Errorf("load agent %s: %w", ended.UID, err)
	}
	state, _, err := rebuild(history)
	if err != nil || !state.Phase.Terminal() {
		return err // one that was deleted has no outcome; whoever looks at the children says so
	}
	e.budgets.keep(ended, state)
	return e.Deliver(ended.Parent, agent.ChildFinished{Child: ended.Name, Outcome: *state.Outcome, Usage: state.Usage})
}

// release lets agents go on that have waited for the recovery.
func (e *Engine) release() {
	e.held.Store(false)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.actors {
		a.look()
	}
}

// findUnknown lets those who take over hear which tool calls nobody can tell the outcome of. It comes after the agent has been read,
// never before: a call that somebody else begins in between would be outstanding in the state and missing here, and so be made
// twice. One that begins after this makes the append fail, and everything is read again.
func (a *actor) findUnknown(batch []delivery) error {
	for i := range batch {
		if !batch[i].takeOver {
			continue
		}
		open, err := a.engine.options.Ledger.OpenCalls(a.engine.ctx, a.uid)
		if err != nil {
			return fmt.Errorf("look for open calls of agent %s: %w", a.uid, err)
		}
		var fact agent.Restarted
		for _, call := range open.Tools {
			if !call.Repeatable {
				fact.Unknown = append(fact.Unknown, call.CallID)
			}
		}
		batch[i].fact = fact
	}
	return nil
}
