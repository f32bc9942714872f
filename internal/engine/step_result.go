// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

// stepResult is the result of stepping through a batch: what to append, and what to do after that.
type stepResult struct {
	deliveries []delivery
	record     ledger.Agent
	before     agent.State
	next       agent.State
	effects    []agent.Effect
	events     []agent.Event
	calls      []CompletedCall
	// outstanding are the keys of all effects that must be in flight afterwards.
	outstanding map[string]bool
	takeOver    bool
	resume      bool
	// parked reports that the agent has no slot and must not start effects.
	parked bool
	// open are the calls with a recorded intent, for a take-over or a resume.
	open map[string]bool
	end  bool
	// quarantine reports that the batch quarantines the agent.
	quarantine bool
	batch      ledger.Batch
	// plannedCalls are the model calls whose intents are recorded, by effect key.
	plannedCalls map[string]plannedCall
	// lastRequest is the newest request, on which the next one may be based.
	lastRequest *exchange.Recorded
	// nextSnapshot is when the next snapshot is due.
	nextSnapshot snapshotCadence
	// granted are the tasks and writes that were reserved for the batch.
	granted budget.Amount
	// expired are the asks about which no one decided in time.
	expired []string
	// inlineCalls are the inline tool calls.
	inlineCalls []CompletedCall
}

// newest returns the sequence number of the newest event.
func (r *stepResult) newest() int64 { return r.batch.After + int64(len(r.batch.Events)) }

func (r *stepResult) empty() bool {
	b := &r.batch
	return len(b.Events) == 0 && len(b.ModelResults) == 0 && len(b.ToolResults) == 0
}

// abandonsCalls reports whether open calls in the ledger may never get a result: the agent is gone, or it was cancelled
// before the engine that took it over made them again.
func (a *actor) abandonsCalls(r *stepResult) bool {
	if r.end || r.quarantine {
		return true
	}
	for key := range r.open {
		if (r.takeOver || r.resume) && a.isAbandoned(r, key) {
			return true
		}
	}
	return false
}

// isAbandoned reports whether an open call will not get a result: the agent does not wait for it, and no process makes
// it.
func (a *actor) isAbandoned(r *stepResult, key string) bool {
	if r.end || r.quarantine {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	effect := effectKey(a.uid, key)
	return !r.outstanding[effect] && !a.calling[effect] && !a.hasResult(key) && a.engine.adopted.find(key) == nil
}

// ignoredReason returns why facts that changed nothing were ignored: an agent that has not started accepts none.
func (r *stepResult) ignoredReason() error {
	if r.next.Phase == agent.PhaseNew {
		return ledger.ErrNotFound
	}
	return nil
}

// step applies a batch of deliveries to the core.
func (a *actor) step(deliveries []delivery) *stepResult {
	a.stateMu.Lock()
	state, seq, record := a.state, a.seq, a.record
	last, cadence := a.lastRequest, a.nextSnapshot
	a.stateMu.Unlock()
	if b := a.beginning; b != nil {
		state, seq, last = b.state, b.seq, b.request
	}
	now := a.engine.options.Now()
	r := &stepResult{deliveries: deliveries, record: record, before: state, next: state, plannedCalls: map[string]plannedCall{}, lastRequest: last}
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
		r.resume = r.resume || d.resume
		if d.open != nil {
			r.open = d.open
		}
		ended := r.end // what follows the end of an agent in a batch is too late
		r.end = r.end || d.end
		r.quarantine = r.quarantine || d.quarantine
		if d.fact != nil && !ended {
			d.fact = a.applyPolicies(r, d, now)
			a.stepFact(r, d, now)
			a.recall(r, now)
		}
		if d.fact != nil || d.judge {
			a.judge(r, now)
		}
	}
	limit := limitReached(r.before, r.next)
	for i := range r.batch.ModelResults {
		r.batch.ModelResults[i].Bailout = limit
	}
	r.parked = a.park(r)
	a.recordIntents(r, now)
	if cadence.add(r.batch.Events); cadence.due(a.engine.options.SnapshotEvery) {
		if data, err := agent.EncodeState(r.next); err == nil {
			r.batch.Snapshot, cadence = data, snapshotCadence{size: len(data)}
		}
	}
	r.nextSnapshot = cadence
	if r.next.Phase.Terminal() && (!state.Phase.Terminal() || r.batch.Create != nil) {
		r.batch.Finish = &ledger.Finish{Status: finalStatus(*r.next.Outcome), ErrorKind: string(r.next.Outcome.Kind), At: now}
	}
	if r.end && !r.next.Phase.Terminal() && len(r.batch.Events) > 0 {
		r.batch.Finish = &ledger.Finish{Status: ledger.StatusCancelled, ErrorKind: string(agent.ErrorCancelled), At: now}
		r.effects = nil
	}
	return r
}

// stepFact applies one fact to the core, and the answers of inline tools that follow. A fact that changes nothing
// leaves no event, so repeated deliveries cost nothing.
func (a *actor) stepFact(r *stepResult, d delivery, now time.Time) {
	if r.newest() > 0 && !r.record.Live() {
		return // its object is deleted, although its state may not be terminal
	}
	event := agent.Event{At: max(agent.Time(now.UnixMilli()), d.at), Fact: a.completeFact(r, a.engine.withCallProblems(r.next, d.fact))}
	next, effects := agent.Step(r.next, event)
	// Some events are recorded even if they change nothing. A take-over: its append proves ownership, and the time without
	// a driver must not count. The end of an agent whose object was deleted: it would stay live forever. A resume: the
	// intents of a parked agent are recorded with it.
	always := (d.takeOver || (d.resume && next.Stage() == agent.StageActive) || (d.end && r.record.Live())) && next.Phase != agent.PhaseNew && !next.Phase.Terminal()
	if len(effects) == 0 && next.UnchangedSince(r.next) && !always {
		return
	}
	if event.Usage = d.usage; event.Usage == nil && recordsUsage(event.Fact, effects) {
		usage := a.engine.budgets.RootUsage(a.uid, r.record.Parent, r.record.Root)
		event.Usage = &usage
	}
	data, err := agent.EncodeEvent(event)
	if err != nil {
		a.engine.options.ReportError(fmt.Errorf("encode %s of agent %s: %w", agent.FactType(d.fact), a.uid, err))
		return
	}
	if d.create != nil && r.record.UID == "" {
		r.batch.Create, r.record = d.create, *d.create
	}
	before := r.next
	r.next = next
	r.updateRecord(next.Config)
	r.effects = append(r.effects, effects...)
	r.events = append(r.events, event)
	r.batch.Events = append(r.batch.Events, ledger.Event{Type: agent.FactType(d.fact), At: now, Data: data})
	addImages(&r.batch, d.fact, d.images)
	cause := r.newest()
	if decided, ok := event.Fact.(agent.Decided); ok && !decided.Approve {
		a.recordDenied(r, before, decided, now)
	}
	for _, c := range agent.ExpiredCalls(before, next, event.Fact) {
		r.expired = append(r.expired, c.ApprovalID())
		a.recordRow(r, c, decidedByTimeout, now)
	}
	for _, e := range effects {
		if run, ok := e.(agent.RunTool); ok && !r.end {
			if answer, ok := a.runInline(r, run, cause, now); ok {
				a.stepFact(r, answer, now)
			}
		}
	}
}

// completeFact adds information to a fact that only the engine has. It becomes part of the event, so replays do not
// need the engine.
func (a *actor) completeFact(r *stepResult, fact agent.Fact) agent.Fact {
	switch f := fact.(type) {
	case agent.Restarted:
		f.OpenCalls = a.openTools(r)
		f.Unknown = slices.DeleteFunc(slices.Clone(f.Unknown), func(call string) bool { return slices.Contains(f.InFlight, call) })
		return f
	case agent.Resumed:
		f.OpenCalls = a.openTools(r)
		return f
	case agent.Cancelled:
		return a.stopped(f, r.next.ModelCall)
	case agent.MessageArrived:
		f.TreeUsage, _ = a.engine.budgets.TreeUsage(a.uid)
		return f
	case agent.ModelReplied:
		if requested := agent.RequestedTasks(r.next, f); requested > 0 {
			left := a.engine.budgets.GrantTasks(a.uid, requested)
			r.granted.Tasks += left
			f.TasksLeft = &left
		}
		return f
	}
	return fact
}

// updateRecord updates the agent's record from its configuration, which determines where the next call goes. Logs of
// earlier releases do not contain that.
func (r *stepResult) updateRecord(c agent.Config) {
	update := ledger.AgentUpdate{Role: c.Role.Name, RoleRevision: c.Role.Revision, Provider: c.Provider, Model: c.Model}
	if c.Model == "" || update == (ledger.AgentUpdate{Role: r.record.Role, RoleRevision: r.record.RoleRevision, Provider: r.record.Provider, Model: r.record.Model}) {
		return
	}
	r.record.Role, r.record.RoleRevision, r.record.Provider, r.record.Model = update.Role, update.RoleRevision, update.Provider, update.Model
	r.batch.Update = &update
}

// recordIntents adds the intents of the model and tool calls that the batch leads to.
func (a *actor) recordIntents(r *stepResult, now time.Time) {
	r.outstanding = map[string]bool{}
	for _, e := range agent.Outstanding(r.next) {
		r.outstanding[e.Key()] = true
	}
	if r.parked {
		return
	}
	effects := r.effects
	if r.takeOver || r.resume { // the intents of a parked agent were not recorded
		effects = slices.DeleteFunc(agent.Outstanding(r.next), func(e agent.Effect) bool { return r.open[a.ledgerKey(e)] })
	}
	for _, e := range effects {
		if !r.outstanding[e.Key()] {
			continue
		}
		switch e := e.(type) {
		case agent.CallModel:
			if r.next.RecallsReplies() {
				continue // no model is called
			}
			call := a.planModelCall(r.record, r.next, e, r.lastRequest)
			r.plannedCalls[e.Key()] = call
			intent := call.intent(r.record, a.ledgerKey(e), r.next, r.newest(), now)
			r.lastRequest = exchange.Record(&intent, call.request, r.next, r.lastRequest)
			r.batch.ModelCalls = append(r.batch.ModelCalls, intent)
		case agent.RunTool:
			r.batch.ToolCalls = append(r.batch.ToolCalls, a.toolIntent(r, e, r.newest(), now))
		}
	}
}

// closeCalls adds results for the open calls of an agent that will not get one.
func (a *actor) closeCalls(r *stepResult) error {
	open, err := a.engine.options.Ledger.OpenCalls(a.engine.ctx, a.uid)
	if err != nil {
		return fmt.Errorf("list open calls of agent %s: %w", a.uid, err)
	}
	now, known := a.engine.options.Now(), map[string]bool{}
	for _, result := range r.batch.ModelResults {
		known[result.Key] = true
	}
	for _, result := range r.batch.ToolResults {
		known[result.Key] = true
	}
	for _, call := range open.Models {
		if !known[call.Key] && a.isAbandoned(r, call.Key) {
			r.batch.ModelResults = append(r.batch.ModelResults, ledger.ModelResult{Key: call.Key, Status: ledger.StatusCancelled, FinishedAt: now})
		}
	}
	for _, call := range open.Tools {
		status := ledger.StatusUnknown
		if call.Repeatable {
			status = ledger.StatusCancelled // a read-only or idempotent tool: its effect does not matter
		}
		if !known[call.Key] && a.isAbandoned(r, call.Key) {
			r.batch.ToolResults = append(r.batch.ToolResults, ledger.ToolResult{Key: call.Key, Status: status, FinishedAt: now})
		}
	}
	return nil
}

// limitReached returns the limit that stops the agent, if any.
func limitReached(before, next agent.State) string {
	for _, s := range []agent.State{before, next} {
		if s.LimitReached != nil {
			return string(s.LimitReached.Kind)
		}
	}
	// A turn without a final call ends within the step, and only its error remains.
	if f := next.TurnFailure; f != nil && f != before.TurnFailure && f.Kind != agent.ErrorModel {
		return string(f.Kind)
	}
	if p := next.Paused; p != nil && p != before.Paused {
		return string(p.Reason)
	}
	return ""
}

// contextMode returns the context mode of a sub-agent; empty for an orchestrator.
func contextMode(config agent.Config) string {
	if config.Kind == agent.SubAgent && config.Task.ContextMode == "" {
		return "None"
	}
	return config.Task.ContextMode
}

// originKey returns the key of the model call that started an agent. It is empty for the root of a tree and for agents
// of old releases, which did not record it.
func originKey(record ledger.Agent, origin agent.Origin) string {
	return modelCallKey(record.Parent, origin.ModelCall, origin.Attempt)
}

// modelCallKey returns the ledger key of an agent's model call; empty if it is unknown.
func modelCallKey(uid, call string, attempt int) string {
	if uid == "" || call == "" || attempt == 0 {
		return ""
	}
	return uid + "/" + agent.CallModel{Call: call, Attempt: attempt}.Key()
}

// ledgerKey makes the key of an effect unique among all agents.
func (a *actor) ledgerKey(e agent.Effect) string { return a.uid + "/" + e.Key() }

func finalStatus(o agent.Outcome) ledger.Status {
	switch o.Kind {
	case "":
		return ledger.StatusSuccess
	case agent.ErrorCancelled:
		return ledger.StatusCancelled
	case agent.ErrorTimedOut:
		return ledger.StatusTimedOut
	}
	return ledger.StatusFailed
}

// plannedCall is a model call that is about to be made.
type plannedCall struct {
	request  model.Request
	provider string
	turn     agent.Turn
	// effort is the reasoning effort of the role; the request has it only if its model accepts one.
	effort model.ReasoningEffort
	// problem is the reason why it cannot be made, if any.
	problem error
}

func (c plannedCall) intent(record ledger.Agent, key string, s agent.State, cause int64, now time.Time) ledger.ModelCall {
	tokens := exchange.PromptTokens(s.ModelCall.Reserved, s.Config.Limits.MaxOutputTokens)
	call := ledger.ModelCall{
		Key: key, Parent: originKey(record, s.Config.Origin), Seq: cause, Iteration: s.Iteration(), Provider: c.provider, Model: c.request.Model,
		RequestType: string(s.ModelCall.Purpose), SystemPrompt: s.Config.Role.Name,
		ContextMode: contextMode(s.Config), ContextTokens: &tokens, Files: s.Config.Task.ContextFiles,
		MaxIterations: s.Config.Limits.MaxIterations, MaxDuration: time.Duration(s.Config.Limits.MaxDuration) * time.Millisecond, StartedAt: now,
	}
	return call
}
