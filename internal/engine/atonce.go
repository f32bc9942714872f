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

// atOnce is the timeout of a tool in Options.AtOnce; a slower tool runs as an ordinary effect.
const atOnce = 50 * time.Millisecond

// answer runs a tool that affects nothing outside this process. Such a tool may run before its intent is durable, because after a
// crash nothing depends on whether it ran. The call and its answer are appended together with the reply that contains the call
// and the next request: one append instead of two. It reports false for all other tools and for slow ones.
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

// toolIntent is the ledger row of a tool call that is about to start.
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

// toolRow is the ledger row of a tool result.
func (a *actor) toolRow(e agent.RunTool, result tool.Result, finished time.Time) *ledger.ToolResult {
	row := &ledger.ToolResult{Key: a.ledgerKey(e), Status: toolStatus(result), Output: wholeOutput(result), FinishedAt: finished}
	if result.Failure != tool.NoFailure {
		row.Error = string(result.Failure)
	}
	return row
}
