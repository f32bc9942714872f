// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

// recording is what came of a batch of deliveries: what to write, and what to do once it is written.
type recording struct {
	deliveries []delivery
	record     ledger.Agent
	before     agent.State
	next       agent.State
	effects    []agent.Effect
	events     []agent.Event
	calls      []Call
	// outstanding are the keys of everything that is to be in flight afterwards.
	outstanding map[string]bool
	takeOver    bool
	end         bool
	batch       ledger.Batch
	// requests are the model calls that the batch intends, by effect key.
	requests map[string]plannedCall
	// answered are the tool calls that were made on the way.
	answered []Call
}

// newest is the sequence of the newest event.
func (r *recording) newest() int64 { return r.batch.After + int64(len(r.batch.Events)) }

func (r *recording) empty() bool {
	b := &r.batch
	return len(b.Events) == 0 && len(b.ModelResults) == 0 && len(b.ToolResults) == 0
}

// unheard says why facts that made no difference were not heard: an agent that has not begun hears nothing.
func (r *recording) unheard() error {
	if r.next.Phase == agent.PhaseNew {
		return ledger.ErrNotFound
	}
	return nil
}

// step puts a batch of deliveries through the core.
func (a *actor) step(deliveries []delivery) *recording {
	a.stateMu.Lock()
	state, seq, snapshot, record := a.state, a.seq, a.snapshot, a.record
	a.stateMu.Unlock()
	now := a.engine.options.Now()
	r := &recording{deliveries: deliveries, record: record, before: state, next: state, requests: map[string]plannedCall{}}
	r.batch = ledger.Batch{Agent: a.uid, After: seq}
	for _, d := range deliveries {
		if d.modelResult != nil {
			r.batch.ModelResults = append(r.batch.ModelResults, *d.modelResult)
		}
		if d.toolResult != nil {
			r.batch.ToolResults = append(r.batch.ToolResults, *d.toolResult)
		}
		if d.call != nil {
			r.calls = append(r.calls, *d.call)
		}
		r.takeOver = r.takeOver || d.takeOver
		r.end = r.end || d.end
		if d.fact != nil {
			a.hear(r, d, now)
		}
	}
	a.intend(r, now)
	if r.newest()-snapshot >= a.engine.options.SnapshotEvery {
		if data, err := agent.EncodeState(r.next); err == nil {
			r.batch.Snapshot = data
		}
	}
	if r.next.Phase.Terminal() && !state.Phase.Terminal() {
		r.batch.Finish = &ledger.Finish{Status: finalStatus(*r.next.Outcome), ErrorKind: string(r.next.Outcome.Kind), At: now}
	}
	if r.end && !r.next.Phase.Terminal() && len(r.batch.Events) > 0 {
		r.batch.Finish = &ledger.Finish{Status: ledger.StatusCancelled, ErrorKind: string(agent.KindCancelled), At: now}
		r.effects = nil
	}
	return r
}

// hear puts one fact through the core, and the answers of tools that it has at hand. A fact that changes nothing leaves no event
// behind: whoever delivers again, to be sure, costs nothing.
func (a *actor) hear(r *recording, d delivery, now time.Time) {
	event := agent.Event{At: max(agent.Time(now.UnixMilli()), d.at), Fact: a.spare(d.fact)}
	next, effects := agent.Step(r.next, event)
	// A take-over is always on record: the append is what gives the right to act, and time that nobody was there
	// for must not count.
	// So is the end of an agent whose object is gone, even if it had nothing to cancel: it would be live for ever.
	always := (d.takeOver || (d.end && r.record.Live())) && next.Phase != agent.PhaseNew && !next.Phase.Terminal()
	if len(effects) == 0 && next.Same(r.next) && !always {
		return
	}
	data, err := json.Marshal(event)
	if err != nil {
		a.engine.options.Trouble(fmt.Errorf("encode %s of agent %s: %w", agent.FactType(d.fact), a.uid, err))
		return
	}
	if d.create != nil && r.newest() == 0 {
		r.batch.Create, r.record = d.create, *d.create
	}
	r.next = next
	r.effects = append(r.effects, effects...)
	r.events = append(r.events, event)
	r.batch.Events = append(r.batch.Events, ledger.Event{Type: agent.FactType(d.fact), At: now, Data: data})
	cause := r.newest()
	for _, e := range effects {
		if run, ok := e.(agent.RunTool); ok && !r.end {
			if fact, ok := a.answer(r, run, cause, now); ok {
				a.hear(r, delivery{fact: fact}, now)
			}
		}
	}
}

// intend writes down the model and tool calls that the batch leads to.
func (a *actor) intend(r *recording, now time.Time) {
	r.outstanding = map[string]bool{}
	for _, e := range agent.Outstanding(r.next) {
		r.outstanding[e.Key()] = true
	}
	for _, e := range r.effects {
		if !r.outstanding[e.Key()] {
			continue
		}
		switch e := e.(type) {
		case agent.CallModel:
			call := a.plan(r.record, r.next, e)
			r.requests[e.Key()] = call
			r.batch.ModelCalls = append(r.batch.ModelCalls, call.intent(a.ledgerKey(e), r.next, r.newest(), now))
		case agent.RunTool:
			r.batch.ToolCalls = append(r.batch.ToolCalls, a.toolIntent(r, e, r.newest(), now))
		}
	}
}

// closeCalls writes down how the calls of an agent end whose object is gone: nobody will be there to hear their results.
func (a *actor) closeCalls(r *recording) error {
	open, err := a.engine.options.Ledger.OpenCalls(a.engine.ctx, a.uid)
	if err != nil {
		return fmt.Errorf("look for open calls of agent %s: %w", a.uid, err)
	}
	now, known := a.engine.options.Now(), map[string]bool{}
	for _, result := range r.batch.ModelResults {
		known[result.Key] = true
	}
	for _, result := range r.batch.ToolResults {
		known[result.Key] = true
	}
	for _, call := range open.Models {
		if !known[call.Key] {
			r.batch.ModelResults = append(r.batch.ModelResults, ledger.ModelResult{Key: call.Key, Status: ledger.StatusCancelled, FinishedAt: now})
		}
	}
	for _, call := range open.Tools {
		status := ledger.StatusUnknown
		if call.Repeatable {
			status = ledger.StatusCancelled // whether it took effect makes no difference
		}
		if !known[call.Key] {
			r.batch.ToolResults = append(r.batch.ToolResults, ledger.ToolResult{Key: call.Key, Status: status, FinishedAt: now})
		}
	}
	return nil
}

// ledgerKey makes the key of an effect unique among all agents.
func (a *actor) ledgerKey(e agent.Effect) string { return a.uid + "/" + e.Key() }

func repeatable(s agent.State, name string) bool {
	for _, t := range s.Config.Tools {
		if t.Name == name {
			return t.ReadOnly || t.Idempotent
		}
	}
	return false
}

func finalStatus(o agent.Outcome) ledger.Status {
	switch o.Kind {
	case "":
		return ledger.StatusSuccess
	case agent.KindCancelled:
		return ledger.StatusCancelled
	case agent.KindTimedOut:
		return ledger.StatusTimedOut
	}
	return ledger.StatusFailed
}

// rebuild folds what the ledger has of an agent into its state. A snapshot of a form that this program does not know is
// no loss, as long as the events are there.
func rebuild(h ledger.History) (agent.State, int64, error) {
	var state agent.State
	var seq int64
	if h.Snapshot != nil {
		decoded, err := agent.DecodeState(h.Snapshot.Data)
		if err != nil {
			return state, 0, err
		}
		state, seq = decoded, h.Snapshot.Seq
	}
	for _, e := range h.Events {
		var event agent.Event
		if err := json.Unmarshal(e.Data, &event); err != nil {
			return state, 0, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		state, seq = agent.Replay(state, []agent.Event{event}), e.Seq
	}
	return state, seq, nil
}

// plannedCall is a model call as it will be made.
type plannedCall struct {
	request  model.Request
	provider string
	turn     agent.Turn
	// problem is why it cannot be made, if it cannot.
	problem error
}

func (c plannedCall) intent(key string, s agent.State, cause int64, now time.Time) ledger.ModelCall {
	tokens := model.EstimateTokens(c.request)
	call := ledger.ModelCall{
		Key: key, Seq: cause, Iteration: s.Iterations, Provider: c.provider, Model: c.request.Model,
		RequestType: string(s.Request.Purpose), SystemPrompt: s.Config.Role.Name, ContextTokens: &tokens,
		MaxIterations: s.Config.Limits.MaxIterations, MaxDuration: time.Duration(s.Config.Limits.MaxDuration) * time.Millisecond, StartedAt: now,
	}
	// A request is plain data; it always encodes.
	call.Request, _ = json.Marshal(c.request)
	return call
}
