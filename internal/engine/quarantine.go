// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// An agent whose history cannot be read, or on which the engine panics, is quarantined: agent.Quarantined is recorded as its
// newest event, which ends it. Its open calls are closed, and the agents below it are cancelled. Later replays do not need the
// events before it, so it does not matter that they cannot be read. Other agents are not affected.

// errQuarantined is returned to callers of Record whose fact was not applied because of the quarantine.
var errQuarantined = errors.New("the agent is quarantined")

// kinds maps the kinds of objects to kinds of agents.
var kinds = map[string]agent.Kind{"AgentChat": agent.Orchestrator, "SubAgent": agent.SubAgent, "AgentTask": agent.ToolRun}

// faultReason bounds the recorded reason of a fault.
const faultReason = 512

// faulty completes a quarantine fact from the record of the agent.
func faulty(record ledger.Agent, seq int64, q agent.Quarantined) *agent.Quarantined {
	q.Kind, q.Name = kinds[record.Kind], record.Name
	q.Requests = int(max(record.LastSeq, seq)) // an event leads to at most one model call
	q.Reason = valid(shorten.HeadBytes(q.Reason, faultReason))
	return &q
}

// shown returns the state that others see. An agent with a fault appears as quarantined as soon as the fault is known.
func (a *actor) shown() agent.State {
	if a.fault == nil {
		return a.state
	}
	return quarantinedState(a.state, *a.fault, a.engine.options.Now())
}

func quarantinedState(s agent.State, q agent.Quarantined, now time.Time) agent.State {
	return agent.Replay(s, []agent.Event{{At: agent.Time(now.UnixMilli()), Fact: q}})
}

// isolate converts a batch for an agent with a fault to one that quarantines it. The results of its calls are recorded; all other
// facts are dropped.
func (a *actor) isolate(batch []delivery) ([]delivery, error) {
	a.stateMu.Lock()
	fault, record := a.fault, a.record
	a.stateMu.Unlock()
	if fault == nil {
		return batch, nil
	}
	confirm(batch, errQuarantined)
	first := delivery{quarantine: true}
	isolated := make([]delivery, 1, len(batch)+1)
	for i := range batch {
		batch[i].recorded = nil
		d := batch[i]
		if d.create != nil {
			first.create, record = d.create, *d.create
		}
		d.fact, d.takeOver, d.resume, d.create, d.images = nil, false, false, nil, nil
		isolated = append(isolated, d)
	}
	q := *faulty(record, 0, *fault)
	q.Requests = max(q.Requests, fault.Requests)
	var err error
	if q.Usage, err = a.engine.usageBelow(record); err != nil {
		return nil, err
	}
	first.fact = q
	isolated[0] = first
	return isolated, nil
}

// absorbed clears the fault of an agent that had already ended.
func (a *actor) absorbed(r *recording) {
	if r.quarantine {
		a.stateMu.Lock()
		defer a.stateMu.Unlock()
		a.fault = nil
	}
}

// usageBelow returns the usage of an agent and everything below it from the recorded calls, because the state that contained it
// may be lost.
func (e *Engine) usageBelow(top ledger.Agent) (agent.Usage, error) {
	var used agent.Usage
	below, err := e.below(top, ledger.AgentFilter{Scope: ledger.Scope{Root: top.Root}})
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
				used = used.Plus(usageOf(call))
			}
			page.Cursor = list.Next
		}
	}
	used.Tasks = int64(len(below))
	return used, nil
}

func usageOf(call ledger.ModelCall) agent.Usage {
	r := call.Result
	if r == nil || r.PromptTokens == nil {
		return agent.Usage{}
	}
	used := agent.Usage{PromptTokens: *r.PromptTokens, ModelCalls: 1, CostMicros: r.CostMicros}
	if r.CompletionTokens != nil {
		used.CompletionTokens = *r.CompletionTokens
	}
	return used
}

// stopBelow cancels the live agents below a quarantined one.
func (e *Engine) stopBelow(record ledger.Agent) {
	below, err := e.liveBelow(record)
	if err != nil {
		if e.ctx.Err() == nil {
			e.options.Trouble(fmt.Errorf("cancel the agents below %s: %w", record.UID, err))
			time.AfterFunc(e.options.RetryLedger, func() { e.stopBelow(record) })
		}
		return
	}
	for _, uid := range below {
		_ = e.post(uid, delivery{fact: agent.Cancelled{By: "the quarantine of " + record.Name}}) // after Close the next engine does it
	}
}

// caught handles a panic on a batch. The snapshot may be damaged, so the agent is first loaded from its events alone, and
// quarantined if that fails too. If even the quarantine panics, it returns an error and the batch is retried later.
func (a *actor) caught(batch []delivery, value any) error {
	a.engine.options.Trouble(fmt.Errorf("agent %s: panic: %v\n%s", a.uid, value, debug.Stack()))
	a.stateMu.Lock()
	hopeless, retry := a.fault != nil, a.snapshot > 0 && !a.distrust
	record, seq := a.record, a.seq
	if retry {
		a.distrust, a.loaded = true, false
	}
	if !retry && !hopeless {
		a.fault = faulty(record, seq, agent.Quarantined{Event: seq + 1, Type: firstFact(batch), Reason: fmt.Sprint(value), Panicked: true})
	}
	a.stateMu.Unlock()
	if hopeless && !retry {
		return fmt.Errorf("quarantine agent %s: panic: %v", a.uid, value)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.putBack(batch)
	return nil
}

// firstFact returns the type of the first fact of a batch.
func firstFact(batch []delivery) string {
	for _, d := range batch {
		if d.fact != nil {
			return agent.FactType(d.fact)
		}
	}
	return "none"
}

// guard runs part of an effect outside the mailbox. A panic ends the effect with the delivery that end returns, and quarantines
// the agent.
func (a *actor) guard(e agent.Effect, do func(), end func() delivery) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		a.engine.options.Trouble(fmt.Errorf("agent %s: panic in %s: %v\n%s", a.uid, e.Key(), value, debug.Stack()))
		a.stateMu.Lock()
		a.fault = faulty(a.record, a.seq, agent.Quarantined{Event: a.seq, Type: e.Key(), Reason: fmt.Sprint(value), Panicked: true})
		a.stateMu.Unlock()
		a.finish(e, end())
	}()
	do()
}

// neverAnswered ends a model call on which the engine panicked.
func (a *actor) neverAnswered(e agent.CallModel) delivery {
	return delivery{modelResult: a.modelRow(e, nil), reserved: e.Reserve}
}
