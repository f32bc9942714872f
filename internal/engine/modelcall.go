// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/engine/admission"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// planModelCall builds the request for a model call.
func (a *actor) planModelCall(record ledger.Agent, s agent.State, e agent.CallModel, before *exchange.Recorded) plannedCall {
	call := plannedCall{request: before.Next(s), turn: s.Turn}
	call.request.IdempotencyKey = a.ledgerKey(e)
	var endpoint Endpoint
	if call.problem = a.engine.options.MayAct(a.engine.ctx, record, s.Config); call.problem != nil {
		call.provider = record.Provider
		return call
	}
	if call.provider, call.problem = a.engine.options.Models.Route(a.engine.ctx, record); call.problem != nil {
		return call
	}
	if endpoint, call.problem = a.engine.options.Models.Endpoint(a.engine.ctx, record, call.provider); call.problem != nil {
		return call
	}
	call.effort = call.request.ReasoningEffort
	call.request = call.requestAt(endpoint)
	return call
}

// requestAt returns the request for an endpoint: fallbacks have models with other properties.
func (c plannedCall) requestAt(endpoint Endpoint) model.Request {
	req := c.request
	price, _ := endpoint.Prices.Of(endpoint.Model)
	req.Model, req.TextOnly, req.ReasoningEffort = endpoint.Model, price.TextOnly, c.effort
	if price.NoReasoning {
		req.ReasoningEffort = ""
	}
	return req
}

// callModel submits the call to the queue, which starts it when it may be made.
func (a *actor) callModel(ctx context.Context, r *stepResult, e agent.CallModel) {
	if a.recallReply(r, e) {
		return
	}
	call, ok := r.plannedCalls[e.Key()]
	if !ok { // taken over from another engine: the same state gives the same request
		call = a.planModelCall(r.record, r.next, e, nil)
	}
	if call.problem != nil {
		a.failModel(e, nil, budget.Amount{}, agent.ModelFailed{Failure: agent.FailureRetry, Message: call.problem.Error()}, 0)
		return
	}
	waiting := &admission.Call{
		Agent: r.record, Key: a.ledgerKey(e), Reserve: e.Reserve, Budgets: a.engine.budgets, WaitRecorded: r.next.QuotaWait() != nil,
		Ticket: schedule.Ticket{Provider: call.provider, Namespace: r.record.Namespace, Chat: r.record.Root, Tokens: e.Reserve.Tokens,
			Failures: e.Attempt - 1, Attempts: r.next.Config.Limits.MaxRetries + 1},
		MaxCost: func() (int64, string) { return a.maxCost(r.record, call, e) },
		Started: func(grant *schedule.Grant) { a.startModelCall(ctx, grant, r.record, call, e) },
		Refused: func(refusal admission.Refusal) {
			a.failModel(e, nil, budget.Amount{}, agent.ModelFailed{Failure: refusal.Failure, Message: refusal.Message}, 0)
		},
		Waits: func(wait *agent.QuotaWait) {
			if wait == nil {
				a.enqueue(delivery{fact: agent.QuotaGranted{Call: e.Call, Attempt: e.Attempt}})
				return
			}
			a.enqueue(delivery{fact: agent.QuotaReached{Call: e.Call, Attempt: e.Attempt, QuotaWait: *wait}})
		},
		QueuedChanged: func() { a.engine.options.QueuedChanged(r.record) },
	}
	a.mu.Lock()
	a.waiting = waiting
	a.mu.Unlock()
	a.engine.admission.Submit(waiting)
	context.AfterFunc(ctx, func() {
		if waiting.Cancel() {
			a.abandonModelCall(e)
		}
	})
}

// startModelCall makes a call that was admitted, unless the engine is closing.
func (a *actor) startModelCall(ctx context.Context, grant *schedule.Grant, record ledger.Agent, call plannedCall, e agent.CallModel) {
	if a.engine.actors.isClosed() {
		grant.Release(schedule.Result{})
		return
	}
	a.engine.busy.Add(1)
	a.engine.calls.do(func() {
		defer a.engine.busy.Done()
		a.guard(e, func() { a.complete(ctx, grant, record, call, e) }, func() delivery {
			grant.Release(schedule.Result{})
			return delivery{modelResult: a.modelRow(e, nil), reserved: e.Reserve}
		})
	})
}

// abandonModelCall ends a call that was cancelled before it was made. On shutdown the next engine makes it.
func (a *actor) abandonModelCall(e agent.CallModel) {
	a.mu.Lock()
	a.forgetWaiting(e)
	a.mu.Unlock()
	if a.engine.ctx.Err() == nil {
		a.enqueue(delivery{modelResult: a.modelRow(e, nil)})
	}
}

// forgetWaiting drops the submitted call of an effect that has ended, unless a later one has taken its place. The lock
// must be held.
func (a *actor) forgetWaiting(e agent.CallModel) {
	if a.waiting != nil && a.waiting.Key == a.ledgerKey(e) {
		a.waiting = nil
	}
}

func (a *actor) complete(ctx context.Context, grant *schedule.Grant, record ledger.Agent, call plannedCall, e agent.CallModel) {
	if !a.beginCall(ctx, e) {
		grant.Release(schedule.Result{})
		return
	}
	defer a.endCall(e)
	err := a.engine.options.MayAct(ctx, record, a.config()) // it may have waited for a long time
	var endpoint Endpoint
	if err == nil {
		endpoint, err = a.engine.options.Models.Endpoint(ctx, record, grant.Provider)
	}
	if err == nil {
		err = a.checkCurrency(record, call, e, grant.Provider, endpoint)
	}
	if err != nil {
		grant.Release(schedule.Result{})
		a.failModel(e, nil, e.Reserve, agent.ModelFailed{Failure: agent.FailureRetry, Message: err.Error()}, 0)
		return
	}
	req := call.requestAt(endpoint)
	req.Conversation, req.Call = a.uid, e.Call
	if req, err = a.engine.withImages(ctx, req); err != nil {
		grant.Release(schedule.Result{})
		a.failModel(e, nil, e.Reserve, agent.ModelFailed{Failure: agent.FailureRetry, Message: err.Error()}, 0)
		return
	}
	completed := &CompletedCall{Agent: record, Effect: e, Turn: call.turn, Provider: grant.Provider, Status: ledger.StatusFailed,
		Server: endpoint.Client.Host(), Request: &req, Started: a.engine.options.Now()}
	completed.sent = model.NewSent(req)
	prompt, received := exchange.PromptTokens(e.Reserve, req.MaxOutputTokens), int64(0)
	a.beginPartial(e, func(received int64) budget.Usage {
		_, used := exchange.Usage(req, model.Reply{Usage: exchange.BrokenOff(nil, prompt, received)}, e, endpoint.Prices)
		return used
	})
	reply, err := endpoint.Client.Complete(model.WithSent(ctx, completed.sent), req, func(d model.Delta) {
		tokens := exchange.ReceivedTokens(d)
		received += tokens
		a.addPartial(e, d.Text, tokens)
		if a.engine.options.OnDelta != nil {
			a.engine.options.OnDelta(a.uid, a.ledgerKey(e), d)
		}
	})
	completed.Duration = a.engine.options.Now().Sub(completed.Started)
	if err != nil {
		failure := exchange.Error(err)
		completed.Failure = string(failure.Kind)
		used := failure.Usage
		if received > 0 {
			used = exchange.BrokenOff(used, prompt, received)
		}
		if used != nil {
			completed.reported, completed.Usage = exchange.Usage(req, model.Reply{Usage: used}, e, endpoint.Prices)
		}
		a.engine.options.CallCompleted(*completed)
		a.modelFailed(e, grant, completed, failure)
		return
	}
	a.engine.notifyPoint(AfterEffect)
	reply.ReasoningItems = exchange.StorableReasoning(reply.ReasoningItems)
	completed.reported, completed.Usage = exchange.Usage(req, reply, e, endpoint.Prices)
	completed.Status, completed.Reply = ledger.StatusSuccess, &reply
	fact := exchange.Fact(e, reply, completed.Usage)
	row := a.modelRow(e, completed)
	if failed, ok := fact.(agent.ModelFailed); ok {
		completed.Status, completed.Failure = ledger.StatusFailed, string(reply.Outcome())
		row.Status, row.Error = ledger.StatusFailed, failed.Message
	}
	a.engine.options.CallCompleted(*completed)
	total := completed.Usage.Total()
	grant.Release(schedule.Result{Tokens: &total})
	row.Response = exchange.Encode(reply)
	row.Summary = shorten.Head(reply.Text, maxSummary)
	if len(reply.ToolCalls) > 0 {
		row.ToolCalls = exchange.Encode(reply.ToolCalls)
	}
	a.finishEffect(e, delivery{fact: fact, modelResult: row, reserved: e.Reserve, call: completed})
}

// maxSummary is how much of a reply the row of a model call shows, in characters. The response holds all of it.
const maxSummary = 500

// modelFailed reports the kind of failure to the core, and when to retry.
func (a *actor) modelFailed(e agent.CallModel, grant *schedule.Grant, completed *CompletedCall, failure *model.Error) {
	backOff := time.Duration(0)
	if failure.Kind == model.RateLimited {
		backOff = failure.RetryAfter
	}
	grant.Release(schedule.Result{BackOff: backOff})
	switch {
	case failure.Kind == model.Cancelled:
		if a.engine.ctx.Err() != nil {
			return // shutdown: the next engine makes the call again
		}
		completed.Status = ledger.StatusCancelled
		a.finishEffect(e, delivery{modelResult: a.modelRow(e, completed), reserved: e.Reserve, call: completed})
	case failure.NeedsCompaction():
		a.failModel(e, completed, e.Reserve, agent.ModelFailed{Failure: agent.FailureContext, Message: failure.Message}, 0)
	case failure.Retryable():
		a.failModel(e, completed, e.Reserve, agent.ModelFailed{Failure: agent.FailureRetry, Message: failure.Message, Cause: retryCauses[failure.Kind]}, failure.RetryAfter)
	default:
		a.failModel(e, completed, e.Reserve, agent.ModelFailed{Failure: agent.FailureFinal, Message: failure.Message}, 0)
	}
}

// retryCauses are the retry causes that are shown to people.
var retryCauses = map[model.Kind]agent.RetryCause{
	model.RateLimited: agent.CauseRateLimited, model.Overloaded: agent.CauseUnavailable, model.Transient: agent.CauseUnavailable, model.TimedOut: agent.CauseUnavailable,
}

// failModel ends a model call without a reply; completed is nil if it never reached the provider. retryAfter is the
// delay that the provider asked for.
func (a *actor) failModel(e agent.CallModel, completed *CompletedCall, reserved budget.Amount, fact agent.ModelFailed, retryAfter time.Duration) {
	fact.Call, fact.Attempt = e.Call, e.Attempt
	if fact.Failure == agent.FailureRetry {
		wait := model.Backoff(e.Attempt, retryAfter, a.engine.options.Random())
		fact.RetryTime = agent.Time(a.engine.options.Now().Add(wait).UnixMilli())
	}
	if completed != nil && completed.Usage.ModelCalls > 0 {
		fact.Usage = &completed.Usage
	}
	row := a.modelRow(e, completed)
	row.Status, row.Error = ledger.StatusFailed, fact.Message
	a.finishEffect(e, delivery{fact: fact, modelResult: row, reserved: reserved, call: completed})
}

// modelRow returns the ledger row of a result: its status, the reported usage, and the provider and model that served
// it. completed is nil if no provider did.
func (a *actor) modelRow(e agent.CallModel, completed *CompletedCall) *ledger.ModelResult {
	row := &ledger.ModelResult{Key: a.ledgerKey(e), Status: ledger.StatusCancelled, FinishedAt: a.engine.options.Now()}
	if completed == nil {
		return row
	}
	row.Status, row.Provider, row.Model, row.Sent = completed.Status, completed.Provider, completed.Request.Model, exchange.Encode(completed.sent)
	if u := completed.reported; u != nil {
		row.PromptTokens, row.CachedTokens, row.CompletionTokens, row.ReasoningTokens = &u.PromptTokens, &u.CachedTokens, &u.CompletionTokens, &u.ReasoningTokens
		row.CostMicros, row.Currency = completed.Usage.CostMicros, completed.Usage.Currency
	}
	return row
}
