// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// An agent whose history cannot be read, or on which the engine panics, is quarantined: agent.Quarantined is recorded
// as its newest event, which ends it. Its open calls are closed, and the agents below it are cancelled. Later replays
// do not need the events before it, so it does not matter that they cannot be read. Other agents are not affected.

// errQuarantined is returned to callers of Record whose fact was not applied because of the quarantine.
var errQuarantined = errors.New("the agent is quarantined")

// agentKinds maps the kinds of objects to kinds of agents.
var agentKinds = map[string]agent.Kind{"AgentChat": agent.Orchestrator, "SubAgent": agent.SubAgent, "AgentTask": agent.ToolRun}

// maxFaultReason bounds the recorded reason of a fault.
const maxFaultReason = 512

// newFault completes a quarantine fact from the record of the agent.
func newFault(record ledger.Agent, seq int64, q agent.Quarantined) *agent.Quarantined {
	q.Kind, q.Name = agentKinds[record.Kind], record.Name
	q.ModelCalls = int(max(record.LastSeq, seq)) // an event leads to at most one model call
	q.Reason = exchange.ValidUTF8(shorten.HeadBytes(q.Reason, maxFaultReason))
	return &q
}

// visibleState returns the state that others see. An agent with a fault appears as quarantined as soon as the fault is
// known.
func (a *actor) visibleState() agent.State {
	if a.fault == nil {
		return a.state
	}
	return quarantinedState(a.state, *a.fault, a.engine.options.Now())
}

func quarantinedState(s agent.State, q agent.Quarantined, now time.Time) agent.State {
	return agent.Replay(s, []agent.Event{{At: agent.Time(now.UnixMilli()), Fact: q}})
}

// quarantineBatch converts a batch for an agent with a fault to one that quarantines it. The results of its calls are
// recorded; all other facts are dropped.
func (a *actor) quarantineBatch(batch []delivery) ([]delivery, error) {
	a.stateMu.Lock()
	fault, record := a.fault, a.record
	a.stateMu.Unlock()
	if fault == nil {
		return batch, nil
	}
	confirmDeliveries(batch, errQuarantined)
	first := delivery{quarantine: true}
	quarantined := make([]delivery, 1, len(batch)+1)
	for i := range batch {
		batch[i].onRecorded = nil
		d := batch[i]
		if d.create != nil {
			first.create, record = d.create, *d.create
		}
		d.fact, d.takeOver, d.resume, d.create, d.images = nil, false, false, nil, nil
		quarantined = append(quarantined, d)
	}
	q := *newFault(record, 0, *fault)
	q.ModelCalls = max(q.ModelCalls, fault.ModelCalls)
	var err error
	if q.Usage, err = a.engine.usageBelow(record); err != nil {
		return nil, err
	}
	first.fact = q
	quarantined[0] = first
	return quarantined, nil
}

// clearFault clears the fault of an agent that had already ended.
func (a *actor) clearFault(r *stepResult) {
	if r.quarantine {
		a.stateMu.Lock()
		defer a.stateMu.Unlock()
		a.fault = nil
	}
}

// usageBelow returns the usage of an agent and everything below it from the recorded calls, because the state that
// contained it may be lost.
func (e *Engine) usageBelow(top ledger.Agent) (budget.Usage, error) {
	var used budget.Usage
	below, err := e.agentsBelow(top, ledger.AgentFilter{Scope: ledger.Scope{Root: top.Root}})
	if err != nil {
		return used, err
	}
	for _, uid := range append([]string{top.UID}, below...) {
		page := ledger.Page{Limit: ledger.MaxLimit}
		for more := true; more; more = page.Cursor != "" {
			list, err := e.options.Ledger.ModelCalls(e.ctx, ledger.CallFilter{Agent: uid}, page)
			if err != nil {
				return used, fmt.Errorf("sum the usage of agent %s: %w", uid, err)
			}
			for _, call := range list.Items {
				used = used.Plus(callUsage(call))
			}
			page.Cursor = list.Next
		}
		writes, err := e.startedTools(uid)
		if err != nil {
			return used, err
		}
		used.Writes += writes
	}
	used.Tasks = int64(len(below))
	return used, nil
}

// startedTools returns how many tool calls an agent has started. Each may have written: whether it is read-only is not
// recorded.
func (e *Engine) startedTools(uid string) (int64, error) {
	started, page := map[[2]string]bool{}, ledger.Page{Limit: ledger.MaxLimit}
	for more := true; more; more = page.Cursor != "" {
		list, err := e.options.Ledger.ToolCalls(e.ctx, uid, page)
		if err != nil {
			return 0, fmt.Errorf("count the tool calls of agent %s: %w", uid, err)
		}
		for _, call := range list.Items {
			if call.Decision != ledger.DecisionDeny {
				started[[2]string{call.ModelCall, call.CallID}] = true // rounds and repetitions have keys of their own
			}
		}
		page.Cursor = list.Next
	}
	return int64(len(started)), nil
}

func callUsage(call ledger.ModelCall) budget.Usage {
	r := call.Result
	if r == nil || r.PromptTokens == nil {
		return budget.Usage{}
	}
	used := budget.Usage{PromptTokens: *r.PromptTokens, ModelCalls: 1, CostMicros: r.CostMicros, Currency: r.Currency}
	if r.CompletionTokens != nil {
		used.CompletionTokens = *r.CompletionTokens
	}
	return used
}

// cancelBelow cancels the live agents below a quarantined one.
func (e *Engine) cancelBelow(record ledger.Agent) {
	below, err := e.liveBelow(record)
	if err != nil {
		if e.ctx.Err() == nil {
			e.options.ReportError(fmt.Errorf("cancel the agents below %s: %w", record.UID, err))
			time.AfterFunc(e.options.LedgerRetryDelay, func() { e.cancelBelow(record) })
		}
		return
	}
	for _, uid := range below {
		_ = e.enqueue(uid, delivery{fact: agent.Cancelled{User: "the quarantine of " + record.Name}}) // after Close the next engine does it
	}
}

// handlePanic handles a panic on a batch. The snapshot may be damaged, so the agent is first loaded from its events
// alone, and quarantined if that fails too. If even the quarantine panics, it returns an error and the batch is retried
// later.
func (a *actor) handlePanic(batch []delivery, value any) error {
	a.engine.options.ReportError(fmt.Errorf("agent %s: panic: %v\n%s", a.uid, value, debug.Stack()))
	a.stateMu.Lock()
	exhausted, retry := a.fault != nil, a.snapshot > 0 && !a.ignoreSnapshot
	record, seq := a.record, a.seq
	if retry {
		a.ignoreSnapshot, a.loaded = true, false
	}
	if !retry && !exhausted {
		a.fault = newFault(record, seq, agent.Quarantined{Event: seq + 1, Type: firstFactType(batch), Reason: fmt.Sprint(value), Panicked: true})
	}
	a.stateMu.Unlock()
	if exhausted && !retry {
		return fmt.Errorf("quarantine agent %s: panic: %v", a.uid, value)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.putBack(batch)
	return nil
}

// firstFactType returns the type of the first fact of a batch.
func firstFactType(batch []delivery) string {
	for _, d := range batch {
		if d.fact != nil {
			return agent.FactType(d.fact)
		}
	}
	return "none"
}

// guard runs part of an effect outside the mailbox. A panic ends the effect with the delivery that end returns, and
// quarantines the agent.
func (a *actor) guard(e agent.Effect, do func(), end func() delivery) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		a.engine.options.ReportError(fmt.Errorf("agent %s: panic in %s: %v\n%s", a.uid, e.Key(), value, debug.Stack()))
		a.stateMu.Lock()
		a.fault = newFault(a.record, a.seq, agent.Quarantined{Event: a.seq, Type: e.Key(), Reason: fmt.Sprint(value), Panicked: true})
		a.stateMu.Unlock()
		a.finishEffect(e, end())
	}()
	do()
}
