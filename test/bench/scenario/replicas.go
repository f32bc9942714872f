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

const (
	// quarterCore is the CPU limit of each operator in the replicas scenarios.
	quarterCore = 0.25
	// replicaAgents do replicaTurns each with a model of replicaLatency: more than three operators of a quarter core can do.
	replicaAgents  = 240
	replicaTurns   = 150
	replicaLatency = modelLatency
)

// Replicas runs the same load with a number of operators that share the work on PostgreSQL, each limited to a quarter of a core.
func Replicas(operators, n, turns int, latency time.Duration) Scenario {
	s := Live(n, turns, latency)
	s.Name = fmt.Sprintf("replicas-%d", operators)
	if n != replicaAgents || turns != replicaTurns || latency != replicaLatency {
		s.Name += fmt.Sprintf("-%dx%d-%s", n, turns, latency)
	}
	s.Title = fmt.Sprintf("%d operators of a quarter core each on PostgreSQL: %s", operators, s.Title)
	s.replicas = &replicas{count: operators, cores: quarterCore}
	run := s.run
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		began := time.Now()
		err := r.whileThrottled(result, func() error { return run(ctx, r, result) })
		return errors.Join(err, r.reportSteady(context.WithoutCancel(ctx), began, result))
	}
	return s
}

// whileThrottled adds how often each operator used all of its CPU time.
func (r *harness) whileThrottled(result *report.Result, run func() error) error {
	type count struct{ periods, throttled int64 }
	before := make([]count, len(r.operators))
	for i, o := range r.operators {
		var err error
		if before[i].periods, before[i].throttled, err = o.group.Throttled(); err != nil {
			return err
		}
	}
	err := run()
	for i, o := range r.operators {
		periods, throttled, readErr := o.group.Throttled()
		if readErr != nil {
			return errors.Join(err, readErr)
		}
		if periods -= before[i].periods; periods > 0 {
			result.Figures = append(result.Figures, report.Figure{
				Name: fmt.Sprintf("operator %d used all of its CPU time in", i+1), Value: 100 * float64(throttled-before[i].throttled) / float64(periods), Unit: "% of the periods",
			})
		}
	}
	return err
}

// reportSteady adds the throughput without the start and the end of the load.
func (r *harness) reportSteady(ctx context.Context, began time.Time, result *report.Result) error {
	ends, err := r.ledger.ToolCallEnds(ctx, began)
	if err != nil || len(ends) < 5 {
		return err
	}
	from, to := ends[len(ends)/5], ends[len(ends)*4/5]
	result.Figures = append(result.Figures, report.Figure{
		Name: report.FigureSteady, Value: 0.6 * float64(len(ends)) / to.Sub(from).Seconds(),
	})
	return nil
}
