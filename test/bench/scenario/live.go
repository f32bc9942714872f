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

// fewTurns is how many tool turns agents make where the name of a scenario does not say.
const fewTurns = 3

// Live has n agents at work at the same time with a model as slow as real ones. Nothing is short of processors then: what counts is how
// little the operator adds to a turn, and what it costs while the agents wait.
func Live(n, turns int, latency time.Duration) Scenario {
	s := Agents(n, turns, latency, MCPTool)
	s.Name = fmt.Sprintf("live-%dx%d-%s", n, turns, latency)
	if turns == fewTurns {
		s.Name = fmt.Sprintf("live-%d-%s", n, latency)
	}
	run := s.run
	s.run = func(ctx context.Context, r *rig, result *report.Result) error {
		began := time.Now()
		err := run(ctx, r, result)
		atWork, readErr := r.ledger.MostAtWork(context.WithoutCancel(ctx), workerRole, began)
		result.Figures = append(result.Figures, report.Figure{Name: "agents at work at the same time, at most", Value: float64(atWork)})
		return errors.Join(err, readErr)
	}
	return s
}
