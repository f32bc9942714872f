// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/test/bench/measure"
	"github.com/nestor-dev/nestor/test/bench/report"
)

// FinishedAgents repeats the same load while finished agents accumulate. The cost is the operator's CPU.
func FinishedAgents(n, rounds int, tool Tool) Scenario {
	const turns = 5
	s := Scenario{
		Name: "growth-finished" + tool.suffix, Title: fmt.Sprintf("%d rounds of %d agents x %d tool turns with %s on one stack, latency 0 ms", rounds, n, turns, tool.title),
		Agents: n * rounds, ToolTurns: turns, Tool: tool, script: turnsScript(tool, turns, 0), warm: "Success",
	}
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		var costs []float64
		for round := range rounds {
			cost, err := r.round(ctx, fmt.Sprintf("round%d", round), n, result)
			if err != nil {
				return err
			}
			cost /= float64(n * turns)
			costs = append(costs, cost)
			r.logf("  round %d of %d: %.2f ms of CPU a turn", round+1, rounds, cost*1000)
			result.Figures = append(result.Figures, report.Figure{Name: fmt.Sprintf("operator CPU a turn, round %d", round+1), Value: cost * 1000, Unit: "ms"})
		}
		result.Figures = append(result.Figures, report.Figure{Name: report.FigureGrowth, Value: costs[len(costs)-1] / costs[0]})
		return nil
	}
	return s
}

// round runs n agents and returns the CPU seconds of the operator.
func (r *harness) round(ctx context.Context, name string, n int, result *report.Result) (float64, error) {
	before, err := measure.CPUSeconds(r.stack.Operator.Pid)
	if err != nil {
		return 0, err
	}
	t := newTasks(name, n, "Success")
	err = t.run(ctx, r)
	t.report(result)
	result.WallSeconds += t.wall().Seconds()
	if err != nil {
		return 0, err
	}
	after, err := measure.CPUSeconds(r.stack.Operator.Pid)
	return after - before, err
}

// LongHistories runs few agents with many turns. The cost is the median time of a turn.
func LongHistories(n, turns int, tool Tool) Scenario {
	s := Agents(n, turns, 0, tool)
	s.Name = "growth-history" + tool.suffix
	run := s.run
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		began := time.Now()
		if err := run(ctx, r, result); err != nil {
			return err
		}
		all, err := r.ledger.EachTurn(ctx, workerRole, began)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return errors.New("the ledger has no turns of the agents")
		}
		slices.SortStableFunc(all, func(a, b measure.Turn) int { return a.Number - b.Number })
		result.Figures = append(result.Figures, growth("turn", overheads(all, 0))...)
		return nil
	}
	return s
}
