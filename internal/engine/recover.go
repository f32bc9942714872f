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
	fact, err := e.restarted(ctx, uid)
	if err != nil {
		return err
	}
	a, err := e.actor(uid)
	if err != nil {
		return err
	}
	a.unload() // whoever was at work may have gone on since this state was read
	if err := a.load(ctx); err != nil {
		return err
	}
	return e.post(uid, delivery{fact: fact, takeOver: true, fresh: true})
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

// restarted names the tool calls of an agent whose outcome nobody can tell.
func (e *Engine) restarted(ctx context.Context, uid string) (agent.Restarted, error) {
	open, err := e.options.Ledger.OpenCalls(ctx, uid)
	if err != nil {
		return agent.Restarted{}, fmt.Errorf("look for open calls of agent %s: %w", uid, err)
	}
	var fact agent.Restarted
	for _, call := range open.Tools {
		if !call.Repeatable {
			fact.Unknown = append(fact.Unknown, call.CallID)
		}
	}
	return fact, nil
}
