// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/test/bench/measure"
	"github.com/nestor-dev/nestor/test/bench/report"
)

// idleTime is how long all agents wait before the memory is read, so that memory of their start is released.
const idleTime = 10 * time.Second

// Waiting makes n agents ask a person, and then answers a hundred of them.
func Waiting(n int) Scenario {
	s := Scenario{
		Name: fmt.Sprintf("waiting-%d", n), Title: fmt.Sprintf("%d agents wait for a person, then 100 of them are answered", n),
		Agents: n, Tool: CalculatorTool, script: questionScript(), warm: "Waiting",
	}
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		t := newTasks("agent", n, "Waiting")
		err := t.run(ctx, r)
		t.report(result)
		result.WallSeconds = t.wall().Seconds()
		if err != nil {
			return err
		}
		if err := measureIdle(ctx, r, result); err != nil {
			return err
		}
		return answer(ctx, r, min(n, 100), result)
	}
	return s
}

func measureIdle(ctx context.Context, r *harness, result *report.Result) error {
	before, err := measure.CPUSeconds(r.stack.Operator.Pid)
	if err != nil {
		return err
	}
	select {
	case <-time.After(idleTime):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	after, err := measure.CPUSeconds(r.stack.Operator.Pid)
	if err != nil {
		return err
	}
	memory, err := measure.ResidentMemory(r.stack.Operator.Pid)
	if err != nil {
		return err
	}
	result.Figures = append(result.Figures,
		report.Figure{Name: report.FigureWaitingRSS, Value: float64(memory.Now) / (1 << 20), Unit: "MiB"},
		report.Figure{Name: "operator CPU in 10 s while all wait", Value: after - before, Unit: "s"})
	return nil
}

// answer answers the first n agents and waits until they have ended.
func answer(ctx context.Context, r *harness, n int, result *report.Result) error {
	ended := newTasks("agent", n, "Success")
	messages := make([][]byte, n)
	for i := range messages {
		messages[i] = fmt.Appendf(nil,
			`{"apiVersion":"nestor.dev/v1beta1","kind":"AgentMessage","metadata":{"name":"answer-%d"},"spec":{"task":"agent-%d","content":"The first."}}`, i, i)
	}
	began := time.Now()
	if _, err := r.api.CreateAll(ctx, messagesPath, messages); err != nil {
		return err
	}
	result.Created += int64(n)
	if err := ended.watch(ctx, r); err != nil {
		return fmt.Errorf("%d of %d answered agents did not end: %w", ended.left, n, err)
	}
	for _, phase := range ended.phases {
		if phase != ended.want {
			result.Failures++
		}
	}
	result.Figures = append(result.Figures, report.Figure{Name: "100 answered, until all have ended", Value: time.Since(began).Seconds(), Unit: "s"})
	return nil
}
