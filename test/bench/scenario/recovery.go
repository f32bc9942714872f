// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/nestor-dev/nestor/test/bench/report"
)

// Recovery kills the operator while n agents are active, and measures until each of them has progressed under a new
// one.
func Recovery(n int, tool Tool) Scenario {
	const turns = 40
	const latency = 200 * time.Millisecond
	s := Scenario{
		Name: fmt.Sprintf("recovery-%d%s", n, tool.suffix), Title: fmt.Sprintf("SIGKILL with %d live agents that use %s, latency %d ms, then a new operator", n, tool.title, latency.Milliseconds()),
		Agents: n, ToolTurns: turns, Latency: latency, Tool: tool, script: turnsScript(tool, turns, latency), warm: "Success",
	}
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		t := newTasks("agent", n, "Success")
		began := time.Now()
		var launched, ready time.Time
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return t.run(ctx, r) })
		group.Go(func() (err error) {
			launched, ready, err = r.replaceOperator(ctx, n, began)
			return err
		})
		err := group.Wait()
		t.report(result)
		result.WallSeconds = t.wall().Seconds()
		return errors.Join(err, r.reportRecovery(ctx, launched, ready, result))
	}
	return s
}

// replaceOperator waits until n agents are active, kills the operator and starts another.
func (r *harness) replaceOperator(ctx context.Context, n int, since time.Time) (launched, ready time.Time, err error) {
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		started, err := r.ledger.Started(ctx, since)
		return started >= int64(n), err
	})
	if err != nil {
		return launched, ready, fmt.Errorf("not all agents were active at the same time: %w", err)
	}
	r.logf("  all %d agents are active: killing the operator", n)
	if err := r.stack.Operator.Kill(); err != nil {
		return launched, ready, err
	}
	launched = time.Now()
	if err := r.stack.StartOperator(ctx); err != nil {
		return launched, ready, err
	}
	ready = time.Now()
	r.operators[0].replaceBy(r.stack)
	return launched, ready, nil
}

// reportRecovery reads from the ledger when each active agent progressed. The takeover by an operator is an event
// itself; progress is the next reply of a model or result of a tool.
func (r *harness) reportRecovery(ctx context.Context, launched, ready time.Time, result *report.Result) error {
	if ready.IsZero() {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	touched, err := r.ledger.FirstEvents(ctx, launched, "")
	if err != nil {
		return err
	}
	further, err := r.ledger.FirstEvents(ctx, launched, "Restarted")
	if err != nil {
		return err
	}
	result.Figures = append(result.Figures,
		report.Figure{Name: "agents alive when killed", Value: float64(len(touched))},
		report.Figure{Name: "new operator ready after", Value: ready.Sub(launched).Seconds(), Unit: "s"},
		report.Figure{Name: "all taken over after", Value: last(touched).Sub(launched).Seconds(), Unit: "s"},
		report.Figure{Name: report.FigureProgress, Value: last(further).Sub(launched).Seconds(), Unit: "s"})
	return nil
}

func last(times map[string]time.Time) (newest time.Time) {
	for _, at := range times {
		if at.After(newest) {
			newest = at
		}
	}
	return newest
}
