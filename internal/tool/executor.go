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
	"time"
)

// Defaults of an Executor.
const (
	DefaultTextLimit = 32 << 10
	DefaultTimeout   = 60 * time.Second
)

// Executor runs calls. The zero Executor has the defaults. It holds no state.
type Executor struct {
	// TextLimit is the most bytes of text that a model gets from one call.
	TextLimit int
	// Timeout limits calls to tools that have no timeout of their own.
	Timeout time.Duration
}

// Execute runs one call on a tool of set. Whatever happens is in the result.
func (e Executor) Execute(ctx context.Context, set Set, call Call) Result {
	t, ok := set.Lookup(call.Name)
	if !ok {
		return e.result(call, missing(call.Name))
	}
	arguments, err := decodeArguments(call.Arguments)
	if err != nil {
		return e.result(call, unreadable(t.spec, err))
	}
	if lines := t.schema.check(arguments); len(lines) > 0 {
		return e.result(call, unfit(t.spec, lines))
	}
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		call.Arguments = []byte("{}")
	}
	if ctx.Err() != nil {
		return e.result(call, unstarted(t.spec, ctx.Err()))
	}
	return e.result(call, e.run(ctx, t, call))
}

// run gives the tool its time and no more. A tool that ignores its context is
// left behind, so that it cannot hold up an agent.
func (e Executor) run(ctx context.Context, t *Tool, call Call) outcome {
	limit := positive(t.spec.Timeout, positive(e.Timeout, DefaultTimeout))
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	done := make(chan outcome, 1)
	go func() { done <- attempt(ctx, t, call) }()

	var o outcome
	select {
	case o = <-done:
		if o.err == nil {
			return o
		}
	case <-ctx.Done():
		o = outcome{err: ctx.Err()}
	}
	if errors.As(o.err, new(panicked)) {
		return broken(t.spec, o.err)
	}
	switch ctx.Err() {
	case context.DeadlineExceeded:
		return timedOut(t.spec, limit, o.err)
	case context.Canceled:
		return cancelled(t.spec, o.err)
	default:
		return failed(t.spec, o.err)
	}
}

// outcome is what became of a call, before it is put into words for a model.
type outcome struct {
	output  Output
	failure Failure
	unknown bool
	err     error
}

// panicked is a panic of a tool, kept for the log.
type panicked struct {
	value any
	stack []byte
}

func (p panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

func attempt(ctx context.Context, t *Tool, call Call) (o outcome) {
	defer func() {
		if value := recover(); value != nil {
			o = outcome{err: panicked{value, debug.Stack()}}
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

// result makes the outcome fit for the model and for the ledger.
func (e Executor) result(call Call, o outcome) Result {
	if o.output.Text == "" && len(o.output.Structured) > 0 {
		o.output.Text = string(o.output.Structured)
	}
	o.output = o.output.fitImages()
	if o.output.Text == "" && len(o.output.Images) == 0 {
		o.output.Text = "(no output)"
	}
	o.output.Text = storable(o.output.Text)
	text, truncated := Cut(o.output.Text, positive(e.TextLimit, DefaultTextLimit), cmp.Or(call.Reference, call.ID))
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
