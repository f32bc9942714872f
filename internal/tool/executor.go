// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

const (
	DefaultTextLimit = 32 << 10
	DefaultTimeout   = 60 * time.Second
)

// Executor runs calls. The zero Executor uses the defaults. It has no state.
type Executor struct {
	// TextLimit is the maximum number of bytes of text for the model from one call.
	TextLimit int
	// Timeout limits calls to tools that have no timeout of their own.
	Timeout time.Duration
}

// Execute runs one call of a tool in set. Failures are reported in the result.
func (e Executor) Execute(ctx context.Context, set Set, call Invocation) Result {
	t, ok := set.Lookup(call.Name)
	if !ok {
		return e.result(call, unknownTool(call.Name))
	}
	result := e.execute(ctx, t, call)
	result.Content = Content{Trusted: t.spec.Content.Trusted, Labels: slices.Concat(t.spec.Content.Labels, result.Output.Labels)}
	return result
}

func (e Executor) execute(ctx context.Context, t *Tool, call Invocation) Result {
	arguments, err := decodeArguments(call.Arguments)
	if err != nil {
		return e.result(call, unreadableArguments(t.spec, err))
	}
	lines, err := t.schema.check(ctx, arguments)
	if err != nil {
		return e.result(call, cancelledBeforeStart(t.spec, err))
	}
	if len(lines) > 0 {
		return e.result(call, invalidArguments(t.spec, lines))
	}
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		call.Arguments = []byte("{}")
	}
	if ctx.Err() != nil {
		return e.result(call, cancelledBeforeStart(t.spec, ctx.Err()))
	}
	return e.result(call, e.run(ctx, t, call))
}

// run runs the tool within its time limit. A tool that ignores its context is abandoned, so that it cannot block an
// agent.
func (e Executor) run(ctx context.Context, t *Tool, call Invocation) outcome {
	limit := positive(t.spec.Timeout, positive(e.Timeout, DefaultTimeout))
	ctx, timer := newCallTimer(ctx, limit)
	defer timer.stop()
	call.Ask = timer.paused(call.Ask)

	done := make(chan outcome, 1)
	go func() { done <- runRecovered(ctx, t, call) }()

	var o outcome
	select {
	case o = <-done:
		if o.err == nil {
			return o
		}
	case <-ctx.Done():
		o = outcome{err: ctx.Err()}
	}
	if errors.As(o.err, new(panicError)) {
		return toolDefect(t.spec, o.err)
	}
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return timedOut(t.spec, limit, o.err)
	case ctx.Err() != nil:
		return cancelled(t.spec, o.err)
	default:
		return failed(t.spec, o.err)
	}
}

// outcome is the result of a call before it is formatted for a model.
type outcome struct {
	output  Output
	failure Failure
	unknown bool
	err     error
}

// panicError is a panic of a tool, for the log.
type panicError struct {
	value any
	stack []byte
}

func (p panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

func runRecovered(ctx context.Context, t *Tool, call Invocation) (o outcome) {
	defer func() {
		if value := recover(); value != nil {
			o = outcome{err: panicError{value, debug.Stack()}}
		}
	}()
	output, err := t.run(ctx, call)
	if err != nil {
		return outcome{err: err}
	}
	if output.IsError {
		return outcome{output: output, failure: Failed}
	}
	return outcome{output: output}
}

// result formats the outcome for the model and for the ledger.
func (e Executor) result(call Invocation, o outcome) Result {
	if o.output.Input != nil {
		o.output = Output{Text: sanitizeText(o.output.Input.Question), Input: o.output.Input, Labels: o.output.Labels}
		o.output.Input.Question = o.output.Text
	}
	if o.output.Text == "" && len(o.output.Structured) > 0 {
		o.output.Text = string(o.output.Structured)
	}
	o.output = o.output.filterImages()
	if o.output.Text == "" && len(o.output.Images) == 0 {
		o.output.Text = "(no output)"
	}
	o.output.Text = sanitizeText(o.output.Text)
	text, truncated := Truncate(o.output.Text, positive(e.TextLimit, DefaultTextLimit), cmp.Or(call.Reference, call.ID))
	return Result{
		CallID: call.ID, Name: call.Name,
		Text: text, Truncated: truncated, Output: o.output,
		Failure: o.failure, OutcomeUnknown: o.unknown, Err: o.err,
	}
}

func positive[T int | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}
