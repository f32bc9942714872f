// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
	"github.com/nestor-dev/nestor/test/bench/bare"
	"github.com/nestor-dev/nestor/test/bench/measure"
	"github.com/nestor-dev/nestor/test/bench/report"
	"github.com/nestor-dev/nestor/test/stack"
)

// bareTurns is the number of tool turns of an agent in the bare scenarios, and bareResult the size of each result.
const (
	bareTurns  = 20
	bareResult = 1 << 10
)

// Bare runs n agents in parallel on the engine and the ledger alone, with a number of shards or, with 0, the whole ledger as one.
func Bare(n, turns int, ledger string, shards int) Scenario {
	s := Scenario{
		Name:  fmt.Sprintf("bare-%d", n),
		Title: fmt.Sprintf("engine and ledger alone on %s: %d agents at a time x %d tool turns of 1 KB", ledger, n, turns), Agents: bareAgents(n), ToolTurns: turns,
	}
	if turns != bareTurns {
		s.Name += fmt.Sprintf("x%d", turns)
	}
	if ledger == stack.PostgreSQL {
		s.Name += "-postgres"
	}
	if shards > 0 {
		s.Name += "-sharded"
		s.Title += fmt.Sprintf(", %d shards", shards)
	}
	s.bare = func(ctx context.Context, env Environment, result *report.Result) error {
		_, err := measureBare(ctx, env, ledger, bare.Load{Agents: s.Agents, AtOnce: n, Turns: turns, ResultBytes: bareResult, Shards: shards}, result)
		return err
	}
	return s
}

// bareAgents returns the total number of agents. The next one starts when one has ended, which keeps their number
// constant; a single round would be too short to measure.
func bareAgents(atOnce int) int { return max(2*atOnce, min(50*atOnce, 500)) }

func measureBare(ctx context.Context, env Environment, ledger string, load bare.Load, result *report.Result) (outcome bare.Outcome, err error) {
	url, remove, err := emptyLedger(ctx, ledger)
	if err != nil {
		return outcome, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	w := &bareMeasurement{url: url}
	outcome, err = bare.Run(ctx, url, load, func(ctx context.Context) error { return w.start(ctx, env, result.Name) })
	return outcome, errors.Join(err, w.finish(ctx, outcome, err == nil, result))
}

// bareMeasurement has the counters at the start of a measurement of the engine alone.
type bareMeasurement struct {
	url         string
	ledger      *measure.Ledger
	bytes       int64
	server      measure.Server
	machine     float64
	stopProfile func() error
}

func (w *bareMeasurement) start(ctx context.Context, env Environment, name string) (err error) {
	if w.ledger, err = measure.OpenLedger(w.url); err != nil {
		return err
	}
	if w.bytes, err = w.ledger.Bytes(ctx); err != nil {
		return err
	}
	if w.server, _, err = w.ledger.PostgreSQL(ctx); err != nil {
		return err
	}
	if w.machine, err = measure.MachineCPUSeconds(); err != nil {
		return err
	}
	w.stopProfile, err = profileOwn(env, name)
	return err
}

// finish adds the measurement to a result, if the load was completed.
func (w *bareMeasurement) finish(ctx context.Context, outcome bare.Outcome, done bool, result *report.Result) (err error) {
	if w.stopProfile != nil {
		err = w.stopProfile()
	}
	if w.ledger == nil {
		return err
	}
	defer func() { err = errors.Join(err, w.ledger.Close()) }()
	if !done {
		return err
	}
	machine, machineErr := measure.MachineCPUSeconds()
	result.CPUSeconds = map[string]float64{"engine": outcome.CPU.Seconds(), machineKey: machine - w.machine}
	err = errors.Join(err, machineErr, w.readLedger(ctx, outcome, result), w.readServer(ctx, result))
	result.CPUSeconds["others"] = others(result.CPUSeconds)
	return err
}

func (w *bareMeasurement) readLedger(ctx context.Context, outcome bare.Outcome, result *report.Result) error {
	result.WallSeconds, result.Failures, result.PeakRSSBytes = outcome.Wall.Seconds(), outcome.Failures, outcome.PeakRSS
	took := make([]float64, 0, len(outcome.Took))
	for _, t := range outcome.Took {
		took = append(took, milliseconds(t))
	}
	result.CompletionMillis = report.Distribute(took)
	bytes, sizeErr := w.ledger.Bytes(ctx)
	turns, turnsErr := w.ledger.Turns(ctx, outcome.Began)
	calls, callsErr := w.ledger.ModelCalls(ctx, outcome.Began)
	failed, failedErr := w.ledger.FailedCalls(ctx, outcome.Began)
	each, eachErr := w.ledger.EachTurn(ctx, bare.Role, outcome.Began)
	result.LedgerBytes, result.Turns, result.ModelCalls = bytes-w.bytes, turns, calls
	result.Failures += int(failed)
	result.OverheadMillis = report.Distribute(overheads(each, 0))
	return errors.Join(sizeErr, turnsErr, callsErr, failedErr, eachErr)
}

// readServer adds the usage of a PostgreSQL server.
func (w *bareMeasurement) readServer(ctx context.Context, result *report.Result) error {
	after, is, err := w.ledger.PostgreSQL(ctx)
	if err != nil || !is || result.Turns == 0 {
		return err
	}
	result.CPUSeconds["PostgreSQL"] = after.CPUSeconds - w.server.CPUSeconds
	turns := float64(result.Turns)
	result.Figures = append(result.Figures,
		report.Figure{Name: "CPU of the PostgreSQL server a turn", Value: 1000 * result.CPUSeconds["PostgreSQL"] / turns, Unit: "ms"},
		report.Figure{Name: "log of the PostgreSQL server a turn", Value: float64(after.LogBytes-w.server.LogBytes) / 1024 / turns, Unit: "KiB"})
	return nil
}

func emptyLedger(ctx context.Context, ledger string) (url string, remove func() error, err error) {
	if ledger == stack.PostgreSQL {
		server, err := pgserver.NewDurable(ctx)
		if err != nil {
			return "", nil, err
		}
		url, err := server.NewDatabase(ctx)
		if err != nil {
			return "", nil, errors.Join(err, server.Close())
		}
		return url, server.Close, nil
	}
	dir, err := os.MkdirTemp("", "nestor-bench-")
	if err != nil {
		return "", nil, fmt.Errorf("create a directory for the ledger: %w", err)
	}
	return "sqlite:" + filepath.Join(dir, "ledger.db"), func() error { return os.RemoveAll(dir) }, nil
}

// profileOwn starts a profile of this process, if profiles are enabled.
func profileOwn(env Environment, name string) (stop func() error, err error) {
	stop = func() error { return nil }
	if env.Profiles == "" {
		return stop, nil
	}
	dir := filepath.Join(env.Profiles, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return stop, fmt.Errorf("save a profile: %w", err)
	}
	file, err := os.Create(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		return stop, fmt.Errorf("save a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return stop, errors.Join(fmt.Errorf("take a profile: %w", err), file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}
