// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// adoptPollInterval is how often the ledger is read for the results of adopted calls.
const adoptPollInterval = 100 * time.Millisecond

// adoptions are the calls that the previous owner of the shard continues to make. They count as in flight here.
type adoptions struct {
	mu    sync.Mutex
	calls map[string]*adoptedCall // by the ledger's key
}

// adoptedCall is a call that is in flight in another process.
type adoptedCall struct {
	key, agent string
	// reserved is the budget that is reserved for the call here.
	reserved budget.Amount
	// delivered reports that its result was delivered, and dropped that its agent needs no result any more.
	delivered, dropped bool
}

// of returns the adopted calls of an agent.
func (d *adoptions) of(uid string) []*adoptedCall {
	d.mu.Lock()
	defer d.mu.Unlock()
	var calls []*adoptedCall
	for _, call := range d.calls {
		if call.agent == uid && !call.dropped {
			calls = append(calls, call)
		}
	}
	return calls
}

func (d *adoptions) find(key string) *adoptedCall {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[key]
}

// adoptedWait is what an adopted call waits for.
type adoptedWait int

const (
	waitResult adoptedWait = iota // for its result
	waitNone                      // for nothing: its result was delivered
	waitForget                    // to be forgotten
)

// waiting returns the adopted calls, and what they wait for.
func (d *adoptions) waiting() map[*adoptedCall]adoptedWait {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls := make(map[*adoptedCall]adoptedWait, len(d.calls))
	for _, call := range d.calls {
		switch {
		case call.delivered:
			calls[call] = waitNone
		case call.dropped:
			calls[call] = waitForget
		default:
			calls[call] = waitResult
		}
	}
	return calls
}

// count counts the calls that wait for results.
func (d *adoptions) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	count := 0
	for _, call := range d.calls {
		if !call.delivered && !call.dropped {
			count++
		}
	}
	return count
}

func (d *adoptions) remove(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.calls, key)
}

// reset drops all calls.
func (d *adoptions) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = nil
}

// adoptCalls reads the calls that the previous owner of the shard has detached. It must be called before the agents are taken over.
func (e *Engine) adoptCalls(ctx context.Context) error {
	e.adopted.reset()
	if !e.shard.Leased {
		return nil
	}
	found, err := e.options.Ledger.DetachedCalls(ctx, e.shard.ID)
	if err != nil {
		return fmt.Errorf("read the detached calls: %w", err)
	}
	e.adopted.mu.Lock()
	defer e.adopted.mu.Unlock()
	e.adopted.calls = map[string]*adoptedCall{}
	for _, call := range found {
		if !call.Expired || call.Result != nil {
			e.adopted.calls[call.Key] = &adoptedCall{key: call.Key, agent: call.Agent}
		}
	}
	return nil
}

// adopt marks the adopted calls of an agent as in flight, so that they are neither made again nor reported as unknown.
func (a *actor) adopt() {
	calls := a.engine.adopted.of(a.uid)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, call := range calls {
		if key := effectKey(a.uid, call.key); a.inFlight[key] == nil && !a.dropped {
			a.inFlight[key] = func() { a.engine.dropAdopted(a, call) }
		}
	}
}

// reserveAdopted reserves the budget of an adopted model call: its usage counts when its result arrives. The limits are not checked,
// because the call was permitted when it was made.
func (a *actor) reserveAdopted(e agent.Effect) {
	call := a.engine.adopted.find(a.ledgerKey(e))
	model, ok := e.(agent.CallModel)
	if call == nil || !ok {
		return
	}
	a.engine.adopted.mu.Lock()
	reserve := !call.delivered && call.reserved == budget.Amount{} // a result that was delivered releases no reservation
	if reserve {
		call.reserved = model.Reserve
	}
	a.engine.adopted.mu.Unlock()
	if reserve {
		a.engine.budgets.Hold(a.uid, model.Reserve)
	}
}

// dropAdopted ends an adopted call that its agent does not need any more. The previous owner finds that its result is not needed.
func (e *Engine) dropAdopted(a *actor, call *adoptedCall) {
	e.adopted.mu.Lock()
	done := call.dropped || call.delivered || e.adopted.calls[call.key] != call
	call.dropped = true
	reserved := call.reserved
	e.adopted.mu.Unlock()
	if done || e.ctx.Err() != nil {
		return
	}
	now := e.options.Now()
	if strings.HasPrefix(effectKey(a.uid, call.key), "model/") {
		a.enqueue(delivery{modelResult: &ledger.ModelResult{Key: call.key, Status: ledger.StatusCancelled, FinishedAt: now}, reserved: reserved})
		return
	}
	a.enqueue(delivery{toolResult: &ledger.ToolResult{Key: call.key, Status: ledger.StatusUnknown, FinishedAt: now}})
}

// awaitAdopted delivers the results of adopted calls until all of them have one, or are lost.
func (e *Engine) awaitAdopted(fence ledger.Fence, lost <-chan struct{}) {
	defer e.busy.Done()
	ticker := time.NewTicker(adoptPollInterval)
	defer ticker.Stop()
	for e.pollAdopted(fence) {
		select {
		case <-ticker.C:
		case <-lost:
			return
		case <-e.ctx.Done():
			return
		}
	}
}

// pollAdopted reads the adopted calls once, and reports whether some are still in flight.
func (e *Engine) pollAdopted(fence ledger.Fence) bool {
	waiting := e.adopted.waiting()
	if len(waiting) == 0 {
		return false
	}
	found, err := e.options.Ledger.DetachedCalls(e.ctx, fence.Shard)
	if err != nil {
		return true // appends report it
	}
	var gone []*adoptedCall
	for call, wait := range waiting {
		i := slices.IndexFunc(found, func(d ledger.DetachedCall) bool { return d.Key == call.key })
		switch {
		case wait == waitNone:
		case wait == waitForget:
			e.forgetAdopted(fence, call)
		case i >= 0 && found[i].Result != nil:
			e.deliverAdopted(fence, call, found[i].Result)
		case i < 0 || found[i].Expired:
			gone = append(gone, call)
		}
	}
	e.loseAdopted(fence, gone)
	return true
}

// deliverAdopted delivers the result of a call, and removes it from the ledger when it is recorded.
func (e *Engine) deliverAdopted(fence ledger.Fence, call *adoptedCall, data []byte) {
	var result detachedResult
	if err := json.Unmarshal(data, &result); err != nil {
		e.options.ReportError(fmt.Errorf("read the result of the detached call %s: %w", call.key, err))
		e.loseAdopted(fence, []*adoptedCall{call})
		return
	}
	e.adopted.mu.Lock()
	call.delivered = true
	d := delivery{modelResult: result.ModelResult, toolResult: result.ToolResult, images: result.Images, reserved: call.reserved}
	e.adopted.mu.Unlock()
	if result.Event != nil {
		d.fact, d.at = result.Event.Fact, result.Event.At
	}
	d.onRecorded = func(err error) {
		if err == nil || errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrInvalid) {
			e.forgetAdopted(fence, call)
		}
	}
	a, err := e.actor(call.agent)
	if err != nil {
		return // the next owner has it
	}
	a.mu.Lock()
	delete(a.inFlight, effectKey(a.uid, call.key))
	a.enqueueLocked(d)
	a.mu.Unlock()
}

// loseAdopted handles calls that will have no result: their agents are taken over again, which makes model calls again and reports tool
// calls as unknown.
func (e *Engine) loseAdopted(fence ledger.Fence, calls []*adoptedCall) {
	for _, call := range calls {
		abandoned, err := e.options.Ledger.AbandonDetached(e.ctx, fence, call.key)
		if err != nil || !abandoned {
			continue // tried again; its result may have arrived
		}
		e.adopted.remove(call.key)
		a, err := e.actor(call.agent)
		if err != nil {
			continue
		}
		a.mu.Lock()
		delete(a.inFlight, effectKey(a.uid, call.key))
		a.mu.Unlock()
		e.adopted.mu.Lock()
		reserved := call.reserved
		e.adopted.mu.Unlock()
		e.budgets.Release(a.uid, reserved)
		_ = e.enqueue(call.agent, delivery{takeOver: true}) // after Close the next engine does it
	}
}

// forgetAdopted removes a call whose result is recorded, or that its agent does not need any more.
func (e *Engine) forgetAdopted(fence ledger.Fence, call *adoptedCall) {
	e.adopted.remove(call.key)
	e.busy.Add(1)
	go func() { // it is called within the step of the agent
		defer e.busy.Done()
		_ = e.options.Ledger.ForgetDetached(e.ctx, fence, []string{call.key}) // the next owner ignores a result that is recorded
	}()
}
