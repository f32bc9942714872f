// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// atOnce is how long a tool of Options.AtOnce may take; one that needs longer is run like any other.
const atOnce = 50 * time.Millisecond

// answer runs a tool that touches nothing outside this process. Nobody could tell afterwards that it ran, so nothing is lost if it runs
// before its intent is durable: call and answer are recorded together with the reply that asked for them and the request that
// follows, in one append instead of two. It reports false for every other tool, and for one that takes its time.
func (a *actor) answer(r *recording, e agent.RunTool, cause int64, now time.Time) (delivery, bool) {
	if _, ok := a.engine.options.AtOnce.Lookup(e.Tool); !ok {
		return delivery{}, false
	}
	ctx, cancel := context.WithTimeout(a.engine.ctx, atOnce)
	defer cancel()
	started := a.engine.options.Now()
	result := a.engine.options.Executor.Execute(ctx, a.engine.options.AtOnce, a.toolCall(r.record, e))
	if result.Failure == tool.TimedOut || result.Failure == tool.Cancelled {
		return delivery{}, false
	}
	finished := a.engine.options.Now()
	r.batch.ToolCalls = append(r.batch.ToolCalls, a.toolIntent(r, e, cause, now))
	r.batch.ToolResults = append(r.batch.ToolResults, *a.toolRow(e, result, finished))
	made := Call{Agent: r.record, Effect: e, Tool: e.Tool, Status: toolStatus(result), Failure: string(result.Failure), Started: started, Took: finished.Sub(started)}
	r.calls, r.answered = append(r.calls, made), append(r.answered, made)
	fact, images := toolFinished(e, result)
	return delivery{fact: fact, images: images}, true
}

// toolIntent is the record of a tool call that an event leads to.
func (a *actor) toolIntent(r *recording, e agent.RunTool, cause int64, now time.Time) ledger.ToolCall {
	modelCall := modelCallKey(a.uid, e.Request, e.Attempt)
	if r.next.Config.Kind == agent.ToolRun {
		modelCall = askedBy(r.record, r.next.Config.Origin)
	}
	call := ledger.ToolCall{
		Key: a.ledgerKey(e), CallID: e.Call, ModelCall: modelCall, Seq: cause, Tool: e.Tool, Arguments: string(e.Arguments),
		Repeatable: r.next.Config.Repeatable(e.Tool), StartedAt: now,
	}
	if c, ok := callOf(r.next, e.Call); ok && c.DecidedBy != "" {
		call.Decision, call.DecidedBy = ledger.DecisionApprove, c.DecidedBy
	}
	return call
}

// toolRow is the record of how a tool call ended.
func (a *actor) toolRow(e agent.RunTool, result tool.Result, finished time.Time) *ledger.ToolResult {
	row := &ledger.ToolResult{Key: a.ledgerKey(e), Status: toolStatus(result), Output: wholeOutput(result), FinishedAt: finished}
	if result.Failure != tool.NoFailure {
		row.Error = string(result.Failure)
	}
	return row
}
