// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// maxConcurrentReads bounds the agents that are read concurrently when an engine starts.
const maxConcurrentReads = 8

// Recover takes over the live agents: outstanding effects are performed, and interrupted write tools are reported as
// unknown.
func (e *Engine) Recover(ctx context.Context) (int, error) {
	for _, a := range e.allActors() {
		a.unload() // another engine may have appended since then
	}
	if e.awaitsRecovery.Load() {
		e.reset() // agents may have been loaded while this engine stood by
	}
	if err := e.adoptCalls(ctx); err != nil {
		return 0, err
	}
	count, seen := 0, map[string]bool{}
	page := ledger.Page{Limit: ledger.MaxLimit}
	for {
		list, err := e.options.Ledger.Agents(ctx, ledger.AgentFilter{Live: true, ShardHashes: e.shard.Hashes}, page)
		if err != nil {
			return count, fmt.Errorf("list the live agents: %w", err)
		}
		selected, err := e.selectForTakeOver(ctx, list.Items, seen)
		if err != nil {
			return count, err
		}
		if err := e.takeOver(ctx, selected); err != nil {
			return count, err
		}
		count += len(selected)
		if list.Next == "" {
			if err := e.closeCallsOfEnded(ctx); err != nil {
				return count, err
			}
			if !e.ownership.ifOwned(func() {
				e.awaitsRecovery.Store(false)
				e.recovered.Store(true)
			}) {
				e.standDown()
				return count, ErrSuperseded
			}
			e.wakeWaiting()
			fence, lost := e.ownership.current()
			e.busy.Add(1)
			go e.waitForAdopted(fence, lost)
			return count, nil
		}
		page.Cursor = list.Next
	}
}

// selectForTakeOver returns the agents to take over. seen are the live agents so far: parents come before their
// children. If a parent was ended with its object and the process died before its children were, they are ended here.
func (e *Engine) selectForTakeOver(ctx context.Context, records []ledger.Agent, seen map[string]bool) ([]ledger.Agent, error) {
	var selected []ledger.Agent
	for _, record := range records {
		seen[record.UID] = true
		if !e.options.ShouldTakeOver(ctx, record) {
			continue
		}
		selected = append(selected, record)
		if record.Parent == "" || seen[record.Parent] {
			continue
		}
		parent, err := e.options.Ledger.Agent(ctx, record.Parent)
		switch {
		case errors.Is(err, ledger.ErrNotFound):
		case err != nil:
			return nil, fmt.Errorf("read the parent of agent %s: %w", record.UID, err)
		case !parent.Live():
			if err := e.enqueue(record.UID, delivery{fact: deletionFact}); err != nil {
				return nil, err
			}
		}
	}
	return selected, nil
}

// closeCallsOfEnded takes over the agents that ended before the results of their calls were recorded, which closes the
// calls. Those that another process still makes have results of their own.
func (e *Engine) closeCallsOfEnded(ctx context.Context) error {
	return e.eachAgent(ctx, ledger.AgentFilter{EndedWithOpenCalls: true, ShardHashes: e.shard.Hashes}, func(a ledger.Agent) error {
		if len(e.adopted.of(a.UID)) > 0 {
			return nil
		}
		return e.enqueue(a.UID, delivery{takeOver: true})
	})
}

// TakeOver takes over an agent that Recover has left out.
func (e *Engine) TakeOver(ctx context.Context, uid string) error { return e.takeOverOne(ctx, uid) }

// takeOver reads agents concurrently and delivers a take-over to each.
func (e *Engine) takeOver(ctx context.Context, records []ledger.Agent) error {
	var readers sync.WaitGroup
	errs := make(chan error, maxConcurrentReads)
	next := make(chan string, len(records))
	for _, record := range records {
		next <- record.UID
	}
	close(next)
	for range maxConcurrentReads {
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
	a.unload() // another engine may have appended since this state was read
	if err := a.load(ctx); err != nil {
		if errors.Is(err, ledger.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		e.options.ReportError(fmt.Errorf("take over agent %s: %w", uid, err))
		return e.enqueue(uid, delivery{takeOver: true}) // retried later, without blocking other agents
	}
	a.adopt()
	missed, err := e.missedFacts(ctx, a)
	if err != nil {
		if errors.Is(err, ledger.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		e.options.ReportError(fmt.Errorf("take over agent %s: %w", uid, err))
	}
	return e.enqueue(uid, delivery{takeOver: true, justLoaded: true, missed: missed, caughtUp: err == nil})
}

// wakeWaiting handles deliveries that have waited for the recovery.
func (e *Engine) wakeWaiting() {
	for _, a := range e.allActors() {
		a.schedule()
	}
}

// findOpenCalls adds to take-overs the interrupted tool calls whose outcome is unknown, and to resumes the calls whose
// intent is recorded. It must run after the agent was read: a call that another engine starts in between would be
// outstanding in the state and missing here, and would be made twice. A call that starts later makes the append fail,
// and everything is read again.
func (a *actor) findOpenCalls(batch []delivery) error {
	for i := range batch {
		if !batch[i].takeOver && !batch[i].resume {
			continue
		}
		open, err := a.engine.options.Ledger.OpenCalls(a.engine.ctx, a.uid)
		if err != nil {
			return fmt.Errorf("list open calls of agent %s: %w", a.uid, err)
		}
		batch[i].open = map[string]bool{}
		for _, call := range open.Models {
			batch[i].open[call.Key] = true
		}
		var fact agent.Restarted
		for _, call := range open.Tools {
			batch[i].open[call.Key] = true
			if !call.Repeatable {
				fact.Unknown = append(fact.Unknown, call.CallID)
			}
		}
		if batch[i].takeOver {
			batch[i].fact = fact
		}
	}
	return nil
}
