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

// minAdoptDelay and maxAdoptDelay bound the time between two reads of the results of adopted calls.
const (
	minAdoptDelay = 100 * time.Millisecond
	maxAdoptDelay = 5 * time.Second
)

// adoptDelay returns when to read the results again. It is a tenth of the time that the calls have taken so far, and
// delays a result by no more than that.
func adoptDelay(waited time.Duration) time.Duration {
	return min(max(waited/10, minAdoptDelay), maxAdoptDelay)
}

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
	// delivered reports that its result or its loss was delivered, and dropped that its agent no longer needs a
	// result.
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

// waiting returns the adopted calls that wait for results.
func (d *adoptions) waiting() []*adoptedCall {
	d.mu.Lock()
	defer d.mu.Unlock()
	var calls []*adoptedCall
	for _, call := range d.calls {
		if !call.delivered && !call.dropped {
			calls = append(calls, call)
		}
	}
	return calls
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

// adoptCalls reads the calls that the previous owner of the shard has detached. It must be called before the agents are
// taken over.
func (e *Engine) adoptCalls(ctx context.Context) error {
	e.adopted.reset()
	detached, err := e.options.Ledger.DetachedCalls(ctx, e.shard.ID)
	if err != nil {
		return fmt.Errorf("read the detached calls: %w", err)
	}
	e.adopted.mu.Lock()
	defer e.adopted.mu.Unlock()
	e.adopted.calls = map[string]*adoptedCall{}
	for _, call := range detached { // including expired ones: readAdopted abandons them unless their result arrives first
		e.adopted.calls[call.Key] = &adoptedCall{key: call.Key, agent: call.Agent}
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

// reserveAdopted reserves the budget of an adopted model call: its usage counts when its result arrives. The limits are
// not checked, because the call was permitted when it was made.
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

// dropAdopted ends an adopted call that its agent no longer needs. The previous owner then detects that the result
// is not needed.
func (e *Engine) dropAdopted(a *actor, call *adoptedCall) {
	e.adopted.mu.Lock()
	done := call.dropped || call.delivered || e.adopted.calls[call.key] != call
	call.dropped = true
	reserved := call.reserved
	e.adopted.mu.Unlock()
	fence, _ := e.ownership.current()
	if done || e.ctx.Err() != nil || !e.ownership.owns(fence) {
		return // the next owner adopts a call that has not ended
	}
	forget := func(error) {
		if e.ownership.owns(fence) { // even if its result cannot be recorded: the agent does not need it
			e.forgetAdopted(fence, call)
		}
	}
	now := e.options.Now()
	d := delivery{reserved: reserved, onRecorded: forget}
	if strings.HasPrefix(effectKey(a.uid, call.key), "model/") {
		d.modelResult = &ledger.ModelResult{Key: call.key, Status: ledger.StatusCancelled, FinishedAt: now}
	} else {
		d.toolResult = &ledger.ToolResult{Key: call.key, Status: ledger.StatusUnknown, FinishedAt: now}
	}
	if !a.enqueue(d) {
		forget(nil)
	}
}

// waitForAdopted delivers the results of adopted calls until all of them have one, or are lost.
func (e *Engine) waitForAdopted(fence ledger.Fence, lost <-chan struct{}) {
	defer e.busy.Done()
	start := time.Now()
	for e.readAdopted(fence) {
		select {
		case <-time.After(adoptDelay(time.Since(start))):
		case <-lost:
			return
		case <-e.ctx.Done():
			return
		}
	}
}

// readAdopted reads the results of adopted calls once, and reports whether some may still be missing.
func (e *Engine) readAdopted(fence ledger.Fence) bool {
	waiting := e.adopted.waiting()
	if len(waiting) == 0 {
		return false
	}
	detached, err := e.options.Ledger.DetachedCalls(e.ctx, fence.Shard)
	if err != nil {
		return true // the next append reports a failing ledger
	}
	var lostCalls []*adoptedCall
	for _, call := range waiting {
		i := slices.IndexFunc(detached, func(d ledger.DetachedCall) bool { return d.Key == call.key })
		switch {
		case i >= 0 && detached[i].Result != nil:
			e.deliverAdopted(fence, call, detached[i].Result)
		case i < 0 || detached[i].Expired:
			lostCalls = append(lostCalls, call)
		}
	}
	e.loseAdopted(fence, lostCalls)
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
		return // another operator owns the agent now
	}
	a.mu.Lock()
	delete(a.inFlight, effectKey(a.uid, call.key))
	a.enqueueLocked(d)
	a.mu.Unlock()
}

// loseAdopted handles calls that will have no result: their agents are taken over again, which makes model calls again
// and reports tool calls as unknown.
func (e *Engine) loseAdopted(fence ledger.Fence, calls []*adoptedCall) {
	for _, call := range calls {
		abandoned, err := e.options.Ledger.AbandonDetached(e.ctx, fence, call.key)
		if err != nil || !abandoned {
			continue // the next read retries; the result may have arrived
		}
		e.adopted.mu.Lock()
		call.delivered = true
		reserved := call.reserved
		e.adopted.mu.Unlock()
		e.budgets.Release(call.agent, reserved)
		_ = e.enqueue(call.agent, delivery{takeOver: true, lostCall: call.key}) // after Close, the next engine takes the agent over
	}
}

// unmarkLost removes the marks of adopted calls that are lost. Only the step that handles the loss may do so: a step
// that has left a call out because it was in flight would make it again.
func (a *actor) unmarkLost(batch []delivery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range batch {
		if d.lostCall != "" && a.engine.adopted.find(d.lostCall) != nil {
			a.engine.adopted.remove(d.lostCall)
			delete(a.inFlight, effectKey(a.uid, d.lostCall))
		}
	}
}

// forgetAdopted removes a call whose result is recorded, or that its agent no longer needs.
func (e *Engine) forgetAdopted(fence ledger.Fence, call *adoptedCall) {
	e.adopted.remove(call.key)
	e.busy.Add(1)
	go func() { // in the background, because the caller is a step of the agent
		defer e.busy.Done()
		_ = e.options.Ledger.ForgetDetached(e.ctx, fence, []string{call.key}) // the next owner ignores a result that is recorded
	}()
}
