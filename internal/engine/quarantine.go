// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// An agent whose history cannot be read, or on which the engine panics, is quarantined: agent.Quarantined is recorded as its newest event,
// which ends it, its open calls are closed, and the agents below it are cancelled. What is before that event in the log is not needed
// any more, so it does not matter after a restart that it cannot be read. Nobody else notices.

// errQuarantined answers those who wait for a record of a fact that a quarantined agent did not hear.
var errQuarantined = errors.New("the agent is quarantined")

// kinds are the kinds of agents by those of their objects.
var kinds = map[string]agent.Kind{"AgentChat": agent.Orchestrator, "SubAgent": agent.SubAgent, "AgentTask": agent.ToolRun}

// faultReason bounds what is recorded of a fault.
const faultReason = 512

// faulty fills in of a quarantine what the record of the agent says.
func faulty(record ledger.Agent, seq int64, q agent.Quarantined) *agent.Quarantined {
	q.Kind, q.Name = kinds[record.Kind], record.Name
	q.Requests = int(max(record.LastSeq, seq)) // an event leads to one model call at most
	q.Reason = valid(strings.ToValidUTF8(q.Reason[:min(len(q.Reason), faultReason)], ""))
	return &q
}

// shown is the state that others see. An agent with a fault is quarantined from the moment that the fault is known.
func (a *actor) shown() agent.State {
	if a.fault == nil {
		return a.state
	}
	return quarantinedState(a.state, *a.fault, a.engine.options.Now())
}

func quarantinedState(s agent.State, q agent.Quarantined, now time.Time) agent.State {
	return agent.Replay(s, []agent.Event{{At: agent.Time(now.UnixMilli()), Fact: q}})
}

// isolate makes of a batch for an agent with a fault one that quarantines it: the results of its calls are kept, but the agent hears of
// nothing else.
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

// absorbed forgets the fault of an agent that had ended before.
func (a *actor) absorbed(r *recording) {
	if r.quarantine {
		a.stateMu.Lock()
		defer a.stateMu.Unlock()
		a.fault = nil
	}
}

// usageBelow is what an agent and everything below it have used, by the calls on record: the state that counted it may be lost.
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

// stopBelow cancels the live agents below one that is quarantined: nobody would take their results.
func (e *Engine) stopBelow(record ledger.Agent) {
	below, err := e.liveBelow(record)
	if err != nil {
		if e.ctx.Err() == nil {
			e.options.Trouble(fmt.Errorf("stop the agents below %s: %w", record.UID, err))
			time.AfterFunc(e.options.RetryLedger, func() { e.stopBelow(record) })
		}
		return
	}
	for _, uid := range below {
		_ = e.post(uid, delivery{fact: agent.Cancelled{By: "the quarantine of " + record.Name}}) // a closed engine takes nothing: the next one does it
	}
}

// caught deals with a panic on a batch. The state may come from a snapshot that is damaged, so the agent is read from its events once
// before it is quarantined. An agent that cannot even be quarantined is tried again later: the error says so.
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

// firstFact is the type of the first fact of a batch.
func firstFact(batch []delivery) string {
	for _, d := range batch {
		if d.fact != nil {
			return agent.FactType(d.fact)
		}
	}
	return "none"
}

// guard does something for an effect outside of the agent's mailbox. A panic ends the effect as end says, and quarantines the agent.
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

// neverAnswered ends a model call that failed in the engine.
func (a *actor) neverAnswered(e agent.CallModel) delivery {
	return delivery{modelResult: a.modelRow(e, nil), reserved: e.Reserve}
}
