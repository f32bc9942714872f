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

// Agents runs n standalone tasks with tool turns in parallel.
func Agents(n, turns int, latency time.Duration, tool Tool) Scenario {
	s := Scenario{
		Name: fmt.Sprintf("agents-%dx%d", n, turns), Title: fmt.Sprintf("%d agents x %d tool turns with %s, latency %d ms", n, turns, tool.title, latency.Milliseconds()),
		Agents: n, ToolTurns: turns, Latency: latency, Tool: tool, script: turnsScript(tool, turns, latency), warm: "Success",
	}
	if latency > 0 {
		s.Name += fmt.Sprintf("-%s", latency)
	}
	s.Name += tool.suffix
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		began := time.Now()
		t := newTasks("agent", n, "Success")
		err := t.run(ctx, r)
		t.report(result)
		result.WallSeconds = t.wall().Seconds()
		runs, readErr := r.ledger.Runs(ctx, workerRole, began)
		result.Latencies = t.latencies(runs)
		return errors.Join(err, readErr)
	}
	return s
}
