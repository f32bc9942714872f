// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// addMissedFacts adds to every take-over in a batch the facts that the agent missed, such as the end of a child.
func (a *actor) addMissedFacts(batch []delivery) ([]delivery, error) {
	var all []delivery
	for _, d := range batch {
		if all = append(all, d); !d.takeOver {
			continue
		}
		missed := d.missed
		if !d.caughtUp {
			var err error
			if missed, err = a.engine.missedFacts(a.engine.ctx, a); err != nil {
				return nil, err
			}
		}
		for _, fact := range missed {
			all = append(all, delivery{fact: fact})
		}
	}
	return all, nil
}

// missedFacts returns the notifications of ended agents that an agent did not get because of a crash or an unanswered
// append. Live agents send theirs again. The usage of an ended child counts from here on; otherwise it would be counted
// nowhere until its parent has it, and other agents of the tree could use it again.
func (e *Engine) missedFacts(ctx context.Context, a *actor) ([]agent.Fact, error) {
	record, state, err := a.view(ctx)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if state.HistoryLoss != nil {
		e.cancelBelow(record) // a crash may have interrupted it
	}
	facts, err := e.missedChildFinished(ctx, record, state)
	if err != nil {
		return nil, err
	}
	for _, ask := range state.Asks {
		if !ask.Open {
			continue
		}
		live, err := e.isAskLive(ctx, ask)
		if err != nil {
			return nil, err
		}
		if !live {
			facts = append(facts, agent.AskResolved{Agent: ask.Agent, Call: ask.Call, AgentEnded: true})
		}
	}
	return facts, nil
}

// children are the names of an agent's children that have not ended.
type children map[string]bool

func pendingChildren(s agent.State) children {
	pending := children{}
	for _, child := range s.Children.Live {
		if child.Outcome == nil {
			pending[child.Name] = true
		}
	}
	return pending
}

// find returns the child that the agent with this name belongs to.
func (c children) find(name string) (string, bool) {
	if c[name] {
		return name, true
	}
	for child := range c {
		if agent.MatchesChildName(name, child) {
			return child, true
		}
	}
	return "", false
}

func (e *Engine) missedChildFinished(ctx context.Context, parent ledger.Agent, s agent.State) ([]agent.Fact, error) {
	pending := pendingChildren(s)
	if len(pending) == 0 {
		return nil, nil
	}
	var facts []agent.Fact
	err := e.eachAgent(ctx, childFilter(parent), func(record ledger.Agent) error {
		child, ok := pending.find(record.Name)
		if !ok || record.Live() {
			return nil
		}
		read, err := e.readAgent(ctx, record.UID, true)
		if errors.Is(err, ledger.ErrNotFound) {
			return nil // its record has just been pruned
		}
		if err != nil {
			return fmt.Errorf("load agent %s: %w", record.UID, err)
		}
		state := read.state
		if read.fault != nil {
			state = quarantinedState(state, *read.fault, record.FinishedAt)
		}
		e.budgets.KeepEnded(record, state)
		facts = append(facts, finishedFact(child, state))
		return nil
	})
	return facts, err
}

func childFilter(parent ledger.Agent) ledger.AgentFilter {
	return ledger.AgentFilter{Scope: ledger.Scope{Root: parent.Root}, Parent: parent.UID}
}

// isAskLive reports whether the agent of an ask has not ended.
func (e *Engine) isAskLive(ctx context.Context, ask agent.Ask) (bool, error) {
	record, err := e.options.Ledger.Agent(ctx, ask.UID)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return false, fmt.Errorf("find the agent %s of an ask: %w", ask.Agent, err)
	}
	return err == nil && record.Live(), nil
}
