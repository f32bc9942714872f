// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// plan turns what the core wants to say into a request to the agent's model.
func (a *actor) plan(record ledger.Agent, s agent.State, e agent.CallModel) plannedCall {
	call := plannedCall{request: request(agent.BuildPrompt(s)), turn: s.Turn}
	call.request.IdempotencyKey = a.ledgerKey(e)
	var endpoint Endpoint
	if call.provider, call.problem = a.engine.options.Models.Route(a.engine.ctx, record); call.problem != nil {
		return call
	}
	if endpoint, call.problem = a.engine.options.Models.Endpoint(a.engine.ctx, record, call.provider); call.problem != nil {
		return call
	}
	call.request.Model = endpoint.Model
	return call
}

var roles = map[agent.Speaker]model.MessageRole{
	agent.User: model.RoleUser, agent.Assistant: model.RoleAssistant, agent.ToolSpeaker: model.RoleTool,
}

func request(p agent.Prompt) model.Request {
	req := model.Request{MaxOutputTokens: p.MaxOutputTokens, Temperature: p.Temperature}
	if p.System != "" {
		req.Messages = append(req.Messages, model.Message{Role: model.RoleSystem, Text: p.System})
	}
	for _, m := range p.Messages {
		message := model.Message{Role: roles[m.Speaker], Text: m.Text, ToolCallID: m.Call}
		for _, c := range m.Calls {
			message.ToolCalls = append(message.ToolCalls, model.ToolCall{ID: c.ID, Name: c.Tool, Arguments: c.Arguments})
		}
		req.Messages = append(req.Messages, message)
	}
	for _, t := range p.Tools {
		req.Tools = append(req.Tools, model.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	return req
}

// callModel reserves what the call may use, waits for its turn without a goroutine, and makes it.
func (a *actor) callModel(ctx context.Context, r *recording, e agent.CallModel) {
	call, ok := r.requests[e.Key()]
	if !ok { // taken over from an engine that is gone: the same state gives the same request
		call = a.plan(r.record, r.next, e)
	}
	if call.problem != nil {
		a.failModel(e, nil, agent.Amount{}, agent.FailureRetry, call.problem.Error(), 0)
		return
	}
	claim := a.engine.budgets.reserve(a.uid, e.Reserve, func(reason string) {
		if reason != "" {
			a.failModel(e, nil, agent.Amount{}, agent.FailureBudget, reason, 0)
			return
		}
		a.queueModel(ctx, r, call, e)
	})
	if !a.engine.budgets.waits(claim) {
		return
	}
	context.AfterFunc(ctx, func() {
		if a.engine.budgets.giveUp(claim) {
			a.neverBegan(e)
		}
	})
}

// queueModel waits for the call's turn at the provider.
func (a *actor) queueModel(ctx context.Context, r *recording, call plannedCall, e agent.CallModel) {
	ticket := schedule.Ticket{Provider: call.provider, Namespace: r.record.Namespace, Chat: r.record.Root, Tokens: e.Reserve.Tokens, Failures: e.Attempt - 1}
	waiting, err := a.engine.options.Scheduler.Submit(ticket, func(grant *schedule.Grant) {
		a.engine.busy.Add(1)
		go func() {
			defer a.engine.busy.Done()
			a.complete(ctx, grant, r.record, call, e)
		}()
	})
	if err != nil {
		a.failModel(e, nil, e.Reserve, agent.FailureRetry, err.Error(), 0)
		return
	}
	context.AfterFunc(ctx, func() {
		if waiting.Cancel() {
			a.engine.budgets.release(a.uid, e.Reserve)
			a.neverBegan(e)
		}
	})
}

// neverBegan ends a call that was given up before it was made. When the process ends, the next one makes it; else nobody does.
func (a *actor) neverBegan(e agent.CallModel) {
	if a.engine.ctx.Err() == nil {
		a.post(delivery{modelResult: a.modelRow(e, ledger.StatusCancelled)})
	}
}

// complete makes the call.
func (a *actor) complete(ctx context.Context, grant *schedule.Grant, record ledger.Agent, call plannedCall, e agent.CallModel) {
	endpoint, err := a.engine.options.Models.Endpoint(ctx, record, grant.Provider)
	if err != nil {
		grant.Release(schedule.Result{})
		a.failModel(e, nil, e.Reserve, agent.FailureRetry, err.Error(), 0)
		return
	}
	req := call.request
	req.Model = endpoint.Model
	made := &Call{Agent: record, Effect: e, Turn: call.turn, Provider: grant.Provider, Status: ledger.StatusFailed,
		Server: endpoint.Client.Host(), Request: &req, Started: a.engine.options.Now()}
	reply, err := endpoint.Client.Complete(ctx, req, func(d model.Delta) {
		if a.engine.options.Listen != nil {
			a.engine.options.Listen(a.uid, a.ledgerKey(e), d)
		}
	})
	made.Took = a.engine.options.Now().Sub(made.Started)
	if err != nil {
		failure := failureOf(err)
		made.Failure = string(failure.Kind)
		a.engine.options.Called(*made)
		a.modelFailed(e, grant, made, failure)
		return
	}
	a.engine.reached(AfterEffect)
	usage, cost := used(req, reply, endpoint.Prices)
	made.Status, made.Usage, made.Reply = ledger.StatusSuccess, usage, &reply
	a.engine.options.Called(*made)
	tokens := usage.Total()
	grant.Release(schedule.Result{Tokens: &tokens})
	row := a.modelRow(e, ledger.StatusSuccess)
	row.Response, _ = json.Marshal(reply)
	row.Summary = reply.Text
	if len(reply.ToolCalls) > 0 {
		row.ToolCalls, _ = json.Marshal(reply.ToolCalls)
	}
	if u := reply.Usage; u != nil {
		row.PromptTokens, row.CachedTokens, row.CompletionTokens = &u.PromptTokens, &u.CachedTokens, &u.CompletionTokens
	}
	row.CostMicros = cost
	a.finish(e, delivery{fact: replied(e, reply, usage), modelResult: row, reserved: e.Reserve, call: made})
}

// replied is the fact that a reply amounts to. A refusal is no answer, whatever came with it.
func replied(e agent.CallModel, reply model.Reply, usage agent.Usage) agent.Fact {
	switch reply.Outcome() {
	case model.OutcomeRefused:
		return agent.ModelFailed{Call: e.Call, Attempt: e.Attempt, Failure: agent.FailureFinal, Message: "the model refused: " + reply.Refusal}
	case model.OutcomeFiltered:
		return agent.ModelFailed{Call: e.Call, Attempt: e.Attempt, Failure: agent.FailureFinal, Message: "the provider's content filter stopped the reply"}
	}
	fact := agent.ModelReplied{Call: e.Call, Text: valid(reply.Text), Usage: usage}
	if reply.Outcome() == model.OutcomeTruncated {
		fact.Finish = agent.FinishLength
	}
	for _, c := range reply.ToolCalls {
		fact.Calls = append(fact.Calls, agent.CallRequest{ID: valid(c.ID), Tool: valid(c.Name), Arguments: valid(c.Arguments)})
	}
	return fact
}

// valid replaces what is not UTF-8: no ledger and no API server would take it.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// used is what a call used. A provider that does not say is taken at its size, so that budgets hold; its cost is unknown.
func used(req model.Request, reply model.Reply, prices model.Prices) (agent.Usage, *int64) {
	if reply.Usage == nil {
		return agent.Usage{PromptTokens: model.EstimateTokens(req), CompletionTokens: int64(len(reply.Text)/4) + 1, ModelCalls: 1}, nil
	}
	cost := prices.Cost(req.Model, reply.Usage)
	return agent.Usage{PromptTokens: reply.Usage.PromptTokens, CompletionTokens: reply.Usage.CompletionTokens, ModelCalls: 1, CostMicros: cost}, cost
}

func failureOf(err error) *model.Error {
	var failure *model.Error
	if !errors.As(err, &failure) {
		return &model.Error{Kind: model.Transient, Message: err.Error()}
	}
	return failure
}

// modelFailed tells the core what kind of failure it was, and when another try makes sense.
func (a *actor) modelFailed(e agent.CallModel, grant *schedule.Grant, made *Call, failure *model.Error) {
	backOff := time.Duration(0)
	if failure.Kind == model.RateLimited {
		backOff = failure.RetryAfter
	}
	grant.Release(schedule.Result{BackOff: backOff})
	switch {
	case failure.Kind == model.Cancelled:
		if a.engine.ctx.Err() != nil {
			return // the process ends; the call is made again by the next one
		}
		a.finish(e, delivery{modelResult: a.modelRow(e, ledger.StatusCancelled), reserved: e.Reserve, call: made})
	case failure.NeedsCompaction():
		a.failModel(e, made, e.Reserve, agent.FailureContext, failure.Message, 0)
	case failure.Retryable():
		a.failModel(e, made, e.Reserve, agent.FailureRetry, failure.Message, failure.RetryAfter)
	default:
		a.failModel(e, made, e.Reserve, agent.FailureFinal, failure.Message, 0)
	}
}

// failModel ends a model call without an answer; made is nil if it never reached the provider. retryAfter is how long the provider
// asked to be left alone.
func (a *actor) failModel(e agent.CallModel, made *Call, reserved agent.Amount, failure agent.ModelFailure, words string, retryAfter time.Duration) {
	fact := agent.ModelFailed{Call: e.Call, Attempt: e.Attempt, Failure: failure, Message: words}
	if failure == agent.FailureRetry {
		wait := model.Backoff(e.Attempt, retryAfter, a.engine.options.Random())
		fact.RetryAt = agent.Time(a.engine.options.Now().Add(wait).UnixMilli())
	}
	row := a.modelRow(e, ledger.StatusFailed)
	row.Error = words
	a.finish(e, delivery{fact: fact, modelResult: row, reserved: reserved, call: made})
}

func (a *actor) modelRow(e agent.CallModel, status ledger.Status) *ledger.ModelResult {
	return &ledger.ModelResult{Key: a.ledgerKey(e), Status: status, FinishedAt: a.engine.options.Now()}
}
