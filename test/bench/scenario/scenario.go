// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package scenario has the scenarios of the benchmark, each on a separate stack, measured from outside.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/test/bench/report"
)

// Scenario is one measurement.
type Scenario struct {
	Name, Title string
	// Agents do ToolTurns each, with a model of the given Latency.
	Agents, ToolTurns int
	Latency           time.Duration
	// Tool is the tool of the turns; the default is CalculatorTool.
	Tool Tool
	// replicas are several operators on a PostgreSQL ledger that share the work; nil means one operator with the ledger of the environment.
	replicas *replicas
	// lasts is the duration of a scenario that runs for a fixed time, which is added to its timeout.
	lasts time.Duration
	// gateway serves the gateway and the history API.
	gateway bool
	// script is the model's script; warm is the phase that the warm-up agent must reach.
	script string
	warm   string
	// prepare runs before the measurement, and run is measured.
	prepare func(ctx context.Context, r *harness) error
	run     func(ctx context.Context, r *harness, result *report.Result) error
	// bare is measured instead if the scenario needs no stack: the engine and the ledger alone.
	bare func(ctx context.Context, env Environment, result *report.Result) error
}

// NeedsStack reports whether the scenario runs on a whole stack, with a control plane.
func (s Scenario) NeedsStack() bool { return s.bare == nil }

// Environment is shared by all scenarios of a run.
type Environment struct {
	// Ledger is stack.SQLite or stack.PostgreSQL.
	Ledger string
	// Programs is a directory with the programs to measure; empty builds them for each scenario.
	Programs string
	// OperatorFlags are additional flags of the operator.
	OperatorFlags []string
	// Profiles is a directory for profiles; empty disables them.
	Profiles string
	// Timeout bounds a scenario, not counting its start and its end.
	Timeout time.Duration
	// Logf prints progress.
	Logf func(format string, args ...any)
}

// Run measures a scenario. Errors are in its result.
func (s Scenario) Run(ctx context.Context, env Environment) report.Result {
	result := report.Result{
		Name: s.Name, Title: s.Title, Agents: s.Agents, ToolTurns: s.ToolTurns, LatencyMillis: float64(s.Latency.Milliseconds()),
		Bare: !s.NeedsStack(),
	}
	if err := s.measure(ctx, env, &result); err != nil {
		result.Error = err.Error()
	}
	return result
}

func (s Scenario) measure(ctx context.Context, env Environment, result *report.Result) (err error) {
	if !s.NeedsStack() {
		limited, cancel := s.limit(ctx, env)
		defer cancel()
		return s.bare(limited, env, result)
	}
	r, err := startHarness(ctx, env, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	if err := r.prepare(ctx, s); err != nil {
		return fmt.Errorf("prepare: %w\n%s", err, r.stack.OperatorLog())
	}
	profiles := startProfiles(ctx, env, r, s.Name)
	w, err := startMeasurement(ctx, r)
	if err != nil {
		return err
	}
	limited, cancel := s.limit(ctx, env)
	defer cancel()
	ran := s.run(limited, r, result)
	return errors.Join(ran, w.finish(ctx, result, s.Latency), stopProfiles(ctx, profiles))
}

func (s Scenario) limit(ctx context.Context, env Environment) (context.Context, context.CancelFunc) {
	timeout := env.Timeout + s.lasts
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not done within %s", timeout))
}
