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

// inlineTimeout is the timeout of a tool in Options.InlineTools; a slower tool runs as an ordinary effect.
const inlineTimeout = 50 * time.Millisecond

// runInline runs a tool that affects nothing outside this process. Such a tool may run before its intent is durable, because
// after a crash nothing depends on whether it ran. The call and its answer are appended together with the reply that contains the
// call and the next request: one append instead of two. It reports false for all other tools and for slow ones.
func (a *actor) runInline(r *stepResult, e agent.RunTool, cause int64, now time.Time) (delivery, bool) {
	if _, ok := a.engine.options.InlineTools.Lookup(e.Tool); !ok {
		return delivery{}, false
	}
	ctx, cancel := context.WithTimeout(a.engine.ctx, inlineTimeout)
	defer cancel()
	started := a.engine.options.Now()
	result := a.engine.options.Executor.Execute(ctx, a.engine.options.InlineTools, a.toolCall(r.record, e))
	if result.Failure == tool.TimedOut || result.Failure == tool.Cancelled {
		return delivery{}, false
	}
	finished := a.engine.options.Now()
	r.batch.ToolCalls = append(r.batch.ToolCalls, a.toolIntent(r, e, cause, now))
	r.batch.ToolResults = append(r.batch.ToolResults, *a.toolRow(e, result, finished))
	completed := CompletedCall{Agent: r.record, Effect: e, Tool: e.Tool, Status: toolStatus(result), Failure: string(result.Failure), Started: started, Duration: finished.Sub(started)}
	r.calls, r.inlineCalls = append(r.calls, completed), append(r.inlineCalls, completed)
	fact, images := toolFinished(e, result)
	return delivery{fact: fact, images: images}, true
}

// toolIntent returns the ledger row of a tool call that is about to start.
func (a *actor) toolIntent(r *stepResult, e agent.RunTool, cause int64, now time.Time) ledger.ToolCall {
	modelCall := modelCallKey(a.uid, e.ModelCall, e.Attempt)
	if r.next.Config.Kind == agent.ToolRun {
		modelCall = originKey(r.record, r.next.Config.Origin)
	}
	call := ledger.ToolCall{
		Key: a.ledgerKey(e), CallID: e.Call, ModelCall: modelCall, Seq: cause, Tool: e.Tool, Arguments: string(e.Arguments),
		Repeatable: r.next.Config.Repeatable(e.Tool), StartedAt: now,
	}
	if c, ok := findCall(r.next, e.Call); ok && c.DecisionUser != "" {
		call.Decision, call.DecidedBy = ledger.DecisionApprove, c.DecisionUser
		if len(c.Edits) > 0 {
			call.Decision = ledger.DecisionApproveEdited
		}
	}
	return call
}

func (a *actor) toolRow(e agent.RunTool, result tool.Result, finished time.Time) *ledger.ToolResult {
	row := &ledger.ToolResult{Key: a.ledgerKey(e), Status: toolStatus(result), Output: wholeOutput(result), FinishedAt: finished}
	if result.Failure != tool.NoFailure {
		row.Error = string(result.Failure)
	}
	return row
}
