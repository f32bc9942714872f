// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/test/bench/report"
)

// fewTurns is the default number of tool turns of agents.
const fewTurns = 3

// Live runs n agents in parallel with a model as slow as real ones. CPUs are then not scarce: what counts is how
// little the operator adds to a turn, and its cost while agents wait.
func Live(n, turns int, latency time.Duration) Scenario {
	s := Agents(n, turns, latency, MCPTool)
	s.Name = fmt.Sprintf("live-%dx%d-%s", n, turns, latency)
	if turns == fewTurns {
		s.Name = fmt.Sprintf("live-%d-%s", n, latency)
	}
	run := s.run
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		began := time.Now()
		err := run(ctx, r, result)
		atWork, readErr := r.ledger.MaxActive(context.WithoutCancel(ctx), workerRole, began)
		result.Figures = append(result.Figures, report.Figure{Name: "agents active at the same time, at most", Value: float64(atWork)})
		return errors.Join(err, readErr)
	}
	return s
}
