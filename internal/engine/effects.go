// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// perform starts an effect, unless it is in flight. Controllers perform effects that need Kubernetes.
func (a *actor) perform(r *stepResult, e agent.Effect) {
	var start func(context.Context)
	switch e := e.(type) {
	case agent.CallModel:
		start = func(ctx context.Context) { a.callModel(ctx, r, e) }
	case agent.RunTool:
		start = func(ctx context.Context) { a.runTool(ctx, r.record, e) }
	case agent.CancelRemote:
		start = func(ctx context.Context) { a.cancelRemote(ctx, r, e) }
	case agent.WakeAt:
		start = func(ctx context.Context) { a.wakeAt(ctx, e) }
	default:
		return
	}
	a.mu.Lock()
	// While the engine drains, tools of a paid reply still run: their intent is recorded, and a call that was never made
	// would have to be reported as unknown.
	_, isTool := e.(agent.RunTool)
	if _, ok := a.inFlight[e.Key()]; ok || a.hasResult(a.ledgerKey(e)) || (a.draining && !isTool) || a.dropped {
		a.mu.Unlock()
		a.reserveAdopted(e)
		return
	}
	ctx, stop := context.WithCancel(a.engine.ctx)
	a.inFlight[e.Key()] = stop
	a.mu.Unlock()
	start(a.engine.options.CallContext(ctx, r.record, r.next, e))
}

// finishEffect ends an effect with a delivery. At every moment the effect is either in flight or its result is in the
// mailbox; otherwise a take-over in between would perform it again. It reports false if the actor was dropped.
func (a *actor) finishEffect(e agent.Effect, d delivery) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if stop, ok := a.inFlight[e.Key()]; ok {
		stop()
		delete(a.inFlight, e.Key())
	}
	switch e := e.(type) {
	case agent.RunTool:
		delete(a.progress.texts, e.Call)
	case agent.CallModel:
		if a.partial.key == e.Key() {
			a.partial = partialReply{}
		}
		a.forgetWaiting(e)
	}
	if detached := a.detached[e.Key()]; detached != nil {
		delete(a.detached, e.Key())
		detached.finish(a, e, d)
		return true
	}
	return a.enqueueLocked(d)
}

// wakeAt sets a timer. No goroutine waits, and the timer does not keep the agent in memory: an approval may expire in a
// week.
func (a *actor) wakeAt(ctx context.Context, e agent.WakeAt) {
	engine, uid := a.engine, a.uid
	wait := time.UnixMilli(int64(e.At)).Sub(engine.options.Now())
	timer := time.AfterFunc(max(wait, 0), func() { engine.wake(uid, e) })
	context.AfterFunc(ctx, func() { timer.Stop() })
}

// wake delivers agent.Woke, also to an agent that was evicted after the timer was set.
func (e *Engine) wake(uid string, timer agent.WakeAt) {
	woke := delivery{fact: agent.Woke{}, at: timer.At}
	if a := e.actors.find(uid); a != nil && a.finishEffect(timer, woke) {
		return
	}
	if err := e.enqueue(uid, woke); err != nil && !errors.Is(err, ErrClosed) {
		e.options.ReportError(fmt.Errorf("wake agent %s: %w", uid, err))
	}
}

// runTool runs a tool on its own goroutine.
func (a *actor) runTool(ctx context.Context, record ledger.Agent, e agent.RunTool) {
	a.engine.busy.Add(1)
	a.engine.calls.do(func() {
		defer a.engine.busy.Done()
		if !a.beginCall(ctx, e) {
			return
		}
		defer a.endCall(e)
		a.guard(e, func() { a.useTool(ctx, record, e) }, func() delivery {
			return delivery{toolResult: &ledger.ToolResult{Key: a.ledgerKey(e), Status: ledger.StatusUnknown, FinishedAt: a.engine.options.Now()}}
		})
	})
}

// useTool runs a tool and delivers its result.
func (a *actor) useTool(ctx context.Context, record ledger.Agent, e agent.RunTool) {
	started := a.engine.options.Now()
	result := a.execute(ctx, record, e)
	completed := &CompletedCall{Agent: record, Effect: e, Tool: e.Tool, Status: toolStatus(result), Failure: string(result.Failure), Started: started, Duration: a.engine.options.Now().Sub(started)}
	a.engine.options.CallCompleted(*completed)
	if errors.Is(a.engine.ctx.Err(), context.Canceled) {
		return // shutdown: the outcome is unknown, and the ledger has only the intent
	}
	if a.dropAbandoned(e) {
		return
	}
	a.engine.notifyPoint(AfterEffect)
	fact, images := a.toolFact(e, result)
	a.finishEffect(e, delivery{fact: fact, images: images, toolResult: a.toolRow(e, result, a.engine.options.Now()), call: completed})
}

func (a *actor) execute(ctx context.Context, record ledger.Agent, e agent.RunTool) tool.Result {
	if err := a.engine.options.MayAct(ctx, record, a.config()); err != nil {
		text := fmt.Sprintf("%s was not called: %s.", e.Tool, err)
		return tool.Result{CallID: e.Call, Name: e.Tool, Text: text, Failure: tool.Failed, Output: tool.Output{Text: text}, Err: err}
	}
	set, err := a.engine.options.Tools.Set(ctx, record, e.Tool)
	if err != nil {
		text := fmt.Sprintf("The tool %s cannot be reached: %s. Try again later, or find another way.", e.Tool, err)
		return tool.Result{CallID: e.Call, Name: e.Tool, Text: text, Failure: tool.Failed, Output: tool.Output{Text: text}, Err: err}
	}
	call := a.toolCall(record, e)
	var spec tool.Spec
	if t, ok := set.Lookup(e.Tool); ok {
		spec = t.Spec()
	}
	call.Ask, call.Progress = a.asker(e, spec.Content), a.reporter(record, e)
	result := a.engine.options.Executor.Execute(ctx, set, call)
	if spec.SharedFiles { // after the call: another agent may have written meanwhile
		result.Content.Labels = append(result.Content.Labels, a.engine.directory.treeLabels(record.Root)...)
	}
	return result
}

func (a *actor) toolCall(record ledger.Agent, e agent.RunTool) tool.Invocation {
	e.Repeat = 0 // a server may recognise a call that starts again
	call := tool.Invocation{ID: e.Call, Name: e.Tool, Arguments: e.Arguments, IdempotencyKey: a.ledgerKey(e), Namespace: record.Namespace, Agent: a.uid}
	if e.Call != record.Name { // the call of a tool run has the name of the run
		call.Reference = record.Name + "/" + e.Call
	}
	if e.Input != nil {
		call.Input = &tool.RoundInput{State: e.Input.State, Answer: e.Input.Answer, User: e.Input.User}
	}
	return call
}

func toolOutcome(r tool.Result) agent.ToolOutcome {
	switch {
	case r.OutcomeUnknown:
		return agent.ToolUnknown
	case r.Failure == tool.NoFailure:
		return agent.ToolSucceeded
	}
	return agent.ToolFailed
}

func toolStatus(r tool.Result) ledger.Status {
	switch {
	case r.OutcomeUnknown:
		return ledger.StatusUnknown
	case r.Failure == tool.NoFailure:
		return ledger.StatusSuccess
	case r.Failure == tool.Cancelled:
		return ledger.StatusCancelled
	case r.Failure == tool.TimedOut:
		return ledger.StatusTimedOut
	}
	return ledger.StatusFailed
}

func wholeOutput(r tool.Result) []byte {
	if r.Output.Text == "" {
		return r.Output.Structured
	}
	return []byte(r.Output.Text)
}
