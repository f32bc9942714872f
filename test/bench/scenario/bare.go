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

// bareTurns is how many tool turns an agent of the bare scenarios makes, and bareResult the size of each result.
const (
	bareTurns  = 20
	bareResult = 1 << 10
)

// Bare has n agents at a time work on the engine and the ledger alone.
func Bare(n, turns int, ledger string) Scenario {
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
	s.bare = func(ctx context.Context, env Environment, result *report.Result) error {
		_, err := measureBare(ctx, env, ledger, bare.Load{Agents: s.Agents, AtOnce: n, Turns: turns, ResultBytes: bareResult}, result)
		return err
	}
	return s
}

// bareAgents is how many agents run in all. The next begins when one has ended, so that there are always as many as the scenario says; one
// at a time would be over too soon to be measured.
func bareAgents(atOnce int) int { return max(2*atOnce, min(50*atOnce, 500)) }

// measureBare runs a load on a ledger of its own.
func measureBare(ctx context.Context, env Environment, ledger string, load bare.Load, result *report.Result) (outcome bare.Outcome, err error) {
	url, remove, err := emptyLedger(ctx, ledger)
	if err != nil {
		return outcome, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	var before int64
	var reading *measure.Ledger
	stopProfile := func() error { return nil }
	outcome, err = bare.Run(ctx, url, load, func(ctx context.Context) (err error) {
		if reading, err = measure.OpenLedger(url); err != nil {
			return err
		}
		if before, err = reading.Bytes(ctx); err != nil {
			return err
		}
		stopProfile, err = profileOwn(env, result.Name)
		return err
	})
	err = errors.Join(err, stopProfile())
	if reading != nil {
		defer func() { err = errors.Join(err, reading.Close()) }()
	}
	if err != nil {
		return outcome, err
	}
	return outcome, reportBare(ctx, reading, before, outcome, result)
}

func reportBare(ctx context.Context, reading *measure.Ledger, before int64, outcome bare.Outcome, result *report.Result) error {
	result.WallSeconds, result.Failures, result.PeakRSSBytes = outcome.Wall.Seconds(), outcome.Failures, outcome.PeakRSS
	result.CPUSeconds = map[string]float64{"engine": outcome.CPU.Seconds()}
	took := make([]float64, 0, len(outcome.Took))
	for _, t := range outcome.Took {
		took = append(took, milliseconds(t))
	}
	result.CompletionMillis = report.Distribute(took)
	after, sizeErr := reading.Bytes(ctx)
	turns, turnsErr := reading.Turns(ctx, outcome.Began)
	calls, callsErr := reading.ModelCalls(ctx, outcome.Began)
	failed, failedErr := reading.FailedCalls(ctx, outcome.Began)
	each, eachErr := reading.EachTurn(ctx, bare.Role, outcome.Began)
	result.LedgerBytes, result.Turns, result.ModelCalls = after-before, turns, calls
	result.Failures += int(failed)
	result.OverheadMillis = report.Distribute(overheads(each, 0))
	return errors.Join(sizeErr, turnsErr, callsErr, failedErr, eachErr)
}

// emptyLedger makes a ledger for one scenario.
func emptyLedger(ctx context.Context, ledger string) (url string, remove func() error, err error) {
	if ledger == stack.PostgreSQL {
		server, err := pgserver.New(ctx)
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
		return "", nil, fmt.Errorf("make a directory for the ledger: %w", err)
	}
	return "sqlite:" + filepath.Join(dir, "ledger.db"), func() error { return os.RemoveAll(dir) }, nil
}

// profileOwn begins a profile of this process, if profiles are wanted.
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
