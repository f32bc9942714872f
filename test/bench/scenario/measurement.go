// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/nestor-dev/nestor/test/bench/measure"
	"github.com/nestor-dev/nestor/test/bench/report"
)

// measurement has the counters at the start of a measurement.
type measurement struct {
	rig    *harness
	began  time.Time
	server measure.APIServer
	ledger int64
	cpu    map[string]float64
}

func startMeasurement(ctx context.Context, r *harness) (*measurement, error) {
	w := &measurement{rig: r}
	var err error
	if w.server, err = w.readWhenIdle(ctx); err != nil {
		return nil, err
	}
	if w.ledger, err = r.ledger.Bytes(ctx); err != nil {
		return nil, err
	}
	w.began = time.Now()
	w.cpu, err = w.processorTime(ctx)
	return w, err
}

// processorTime returns the CPU time of each process.
func (w *measurement) processorTime(ctx context.Context) (map[string]float64, error) {
	pids, err := w.rig.processes()
	if err != nil {
		return nil, err
	}
	used := map[string]float64{}
	for name, all := range pids {
		for _, pid := range all {
			seconds, err := measure.CPUSeconds(pid)
			if err != nil {
				return nil, err
			}
			used[name] += seconds
		}
	}
	server, is, err := w.rig.ledger.PostgreSQL(ctx)
	if err != nil {
		return nil, err
	}
	if is {
		used["PostgreSQL"] = server.CPUSeconds
	}
	machine, err := measure.MachineCPUSeconds()
	used[machineKey] = machine
	return used, err
}

// machineKey is the key for all processes together.
const machineKey = "machine"

// readWhenIdle reads the API server's counters once there were no writes for a while, because the operator may still write
// deferred statuses. After a timeout it reads them anyway.
func (w *measurement) readWhenIdle(ctx context.Context) (measure.APIServer, error) {
	const quiet, patience = time.Second, 20 * time.Second
	last, err := measure.ReadAPIServer(ctx, w.rig.api)
	for began := time.Now(); err == nil && time.Since(began) < patience; {
		select {
		case <-time.After(quiet):
		case <-ctx.Done():
			return last, context.Cause(ctx)
		}
		before := last
		if last, err = measure.ReadAPIServer(ctx, w.rig.api); maps.Equal(before.Writes, last.Writes) {
			break
		}
	}
	return last, err
}

// finish adds the measurement to a result. CPU times are read first, so that waiting is not counted.
func (w *measurement) finish(ctx context.Context, result *report.Result, latency time.Duration) error {
	cpu, err := w.processorTime(ctx)
	if err != nil {
		return err
	}
	result.CPUSeconds = map[string]float64{}
	for name, used := range cpu {
		result.CPUSeconds[name] = used - w.cpu[name]
		if result.CPUSeconds[name] < 0 { // the process was replaced
			result.CPUSeconds[name] = used
		}
	}
	result.CPUSeconds["others"] = others(result.CPUSeconds)
	for _, o := range w.rig.operators {
		memory, err := measure.ResidentMemory(o.Pid)
		if err != nil {
			return err
		}
		result.PeakRSSBytes = max(result.PeakRSSBytes, memory.Peak)
	}
	server, err := w.readWhenIdle(ctx)
	if err != nil {
		return err
	}
	result.EtcdBytes = server.StorageBytes - w.server.StorageBytes
	result.Writes = map[string]int64{}
	for key, n := range server.Writes {
		if n > w.server.Writes[key] {
			result.Writes[key] = n - w.server.Writes[key]
		}
	}
	return w.readLedger(ctx, result, latency)
}

// others returns the CPU time of processes outside the benchmark.
func others(used map[string]float64) float64 {
	left := used[machineKey]
	for name, seconds := range used {
		if name != machineKey {
			left -= seconds
		}
	}
	return max(0, left)
}

func (w *measurement) readLedger(ctx context.Context, result *report.Result, latency time.Duration) error {
	bytes, sizeErr := w.rig.ledger.Bytes(ctx)
	made, turnsErr := w.rig.ledger.Turns(ctx, w.began)
	calls, callsErr := w.rig.ledger.ModelCalls(ctx, w.began)
	failed, failedErr := w.rig.ledger.FailedCalls(ctx, w.began)
	turns, eachErr := w.rig.ledger.EachTurn(ctx, workerRole, w.began)
	result.LedgerBytes, result.Turns, result.ModelCalls = bytes-w.ledger, made, calls
	result.Failures += int(failed)
	if missing := result.Agents*result.ToolTurns - int(made); result.Failures == 0 && missing > 0 {
		result.Failures = missing // agents of a fan-out that did not finish
	}
	if result.ToolTurns > 0 { // otherwise the time between two calls is a person's
		result.OverheadMillis = report.Distribute(overheads(turns, latency))
	}
	return errors.Join(sizeErr, turnsErr, callsErr, failedErr, eachErr)
}

// overheads returns the time of turns beyond the model's latency, in milliseconds.
func overheads(turns []measure.Turn, latency time.Duration) []float64 {
	over := make([]float64, 0, len(turns))
	for _, turn := range turns {
		over = append(over, milliseconds(turn.Took-latency))
	}
	return over
}
