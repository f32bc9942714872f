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

// catchUp puts behind every take-over in a batch what the agent missed: others may have ended, and nobody could tell it.
func (a *actor) catchUp(batch []delivery) ([]delivery, error) {
	var whole []delivery
	for _, d := range batch {
		if whole = append(whole, d); !d.takeOver {
			continue
		}
		missed := d.missed
		if !d.caughtUp {
			var err error
			if missed, err = a.engine.missed(a.engine.ctx, a); err != nil {
				return nil, err
			}
		}
		for _, fact := range missed {
			whole = append(whole, delivery{fact: fact})
		}
	}
	return whole, nil
}

// missed is what an agent would have been told by agents that have ended if the process had not died first, or if the ledger had answered.
// Those that live tell it again themselves. What an ended child used counts from this moment: until its parent has taken it over, nothing
// else would count it, and the others of the tree could spend it again.
func (e *Engine) missed(ctx context.Context, a *actor) ([]agent.Fact, error) {
	record, state, err := a.view(ctx)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if state.Lost != nil {
		e.stopBelow(record) // the process may have died before it was done
	}
	facts, err := e.missedEnds(ctx, record, state)
	if err != nil {
		return nil, err
	}
	for _, ask := range state.Asks {
		if !ask.Open {
			continue
		}
		live, err := e.isLive(ctx, record.UID, ask)
		if err != nil {
			return nil, err
		}
		if !live {
			facts = append(facts, agent.Settled{Agent: ask.Agent, Call: ask.Call, Gone: true})
		}
	}
	return facts, nil
}

// children are the names by which an agent knows those of its children that have not ended.
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

// find returns the child that an agent of a name is for.
func (c children) find(name string) (string, bool) {
	if c[name] {
		return name, true
	}
	for child := range c {
		if agent.NamedFor(name, child) {
			return child, true
		}
	}
	return "", false
}

func (e *Engine) missedEnds(ctx context.Context, parent ledger.Agent, s agent.State) ([]agent.Fact, error) {
	pending := pendingChildren(s)
	if len(pending) == 0 {
		return nil, nil
	}
	var facts []agent.Fact
	err := e.eachAgent(ctx, childrenOf(parent), func(record ledger.Agent) error {
		child, ok := pending.find(record.Name)
		if !ok || record.Live() {
			return nil
		}
		read, err := e.read(ctx, record.UID, true)
		if errors.Is(err, ledger.ErrNotFound) {
			return nil // its record has just expired
		}
		if err != nil {
			return fmt.Errorf("load agent %s: %w", record.UID, err)
		}
		state := read.state
		if read.fault != nil {
			state = quarantinedState(state, *read.fault, record.FinishedAt)
		}
		e.budgets.keep(record, state)
		facts = append(facts, finishedFact(child, state))
		return nil
	})
	return facts, err
}

// childrenOf chooses the agents that an agent has asked for.
func childrenOf(parent ledger.Agent) ledger.AgentFilter {
	return ledger.AgentFilter{Scope: ledger.Scope{Root: parent.Root}, Parent: parent.UID}
}

// isLive says whether the agent that asked something has not ended.
func (e *Engine) isLive(ctx context.Context, root string, ask agent.Ask) (bool, error) {
	uid, err := e.asker(ctx, root, ask.UID, ask.Task)
	if err == nil {
		var record ledger.Agent
		record, err = e.options.Ledger.Agent(ctx, uid)
		if err == nil {
			return record.Live(), nil
		}
	}
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	return false, fmt.Errorf("look up the agent %s, which asked for a person: %w", ask.Agent, err)
}

// asker is the UID of the agent that asked something, or ledger.ErrNotFound. What earlier releases recorded has only the name of its task.
func (e *Engine) asker(ctx context.Context, root, uid, task string) (string, error) {
	if uid != "" {
		return uid, nil
	}
	err := e.eachAgent(ctx, ledger.AgentFilter{Scope: ledger.Scope{Root: root}, Live: true}, func(a ledger.Agent) error {
		if uid == "" && agent.NamedFor(a.Name, task) {
			uid = a.UID
		}
		return nil
	})
	if err == nil && uid == "" {
		err = ledger.ErrNotFound
	}
	return uid, err
}
