// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/bench/report"
)

// forks is how many forks of the same run are measured, one after the other.
const forks = 20

// Fork starts forks at the end of a run with many turns.
func Fork(turns int) Scenario {
	s := Scenario{
		Name: fmt.Sprintf("fork-%d", turns), Title: fmt.Sprintf("%d forks of a run of %d turns, one after the other, latency 0 ms", forks, turns),
		Agents: forks, Tool: CalculatorTool, warm: "Success",
		script: head(0) + "- {match: {lastMessage: '/Go on/'}, reply: {toolCalls: [{name: submit_result, arguments: {result: Work done.}}]}}\n" +
			"- {match: {role: worker}, reply: {toolCalls: [{name: submit_result, arguments: {result: Work done.}}]}}\n" +
			fmt.Sprintf(turnsOf, turns, CalculatorTool.call),
	}
	s.prepare = func(ctx context.Context, r *harness) error {
		if err := r.stack.API.Create(ctx, role("long", "You work.", CalculatorTool.allow)); err != nil {
			return fmt.Errorf("create the role: %w", err)
		}
		return newTasksWithRole("long", "long", 1, "Success").run(ctx, r)
	}
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		origin := &v1beta1.SubAgent{}
		if err := r.stack.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "long-0"}, origin); err != nil {
			return fmt.Errorf("get the run: %w", err)
		}
		began := time.Now()
		var created []time.Time
		var err error
		for i := range forks {
			one := newTasksWithSpec(fmt.Sprint("fork-", i), 1, "Success", func(int) string {
				return fmt.Sprintf(`{"type":"Agent","instruction":"Go on.","fork":{"uid":"%s","task":"%s"}}`, origin.UID, origin.Spec.Task)
			})
			if err = one.run(ctx, r); err != nil {
				break
			}
			one.report(result)
			created = append(created, one.created...)
		}
		result.WallSeconds = time.Since(began).Seconds()
		runs, readErr := r.ledger.Runs(ctx, "long", began)
		firsts := samples{values: map[string][]float64{}}
		for i, at := range created {
			if run, ok := runs[fmt.Sprintf("fork-%d-0", i)]; ok {
				firsts.add([]sample{{report.LatencyFirstCall, run.FirstCall.Sub(at)}})
			}
		}
		result.Latencies = firsts.distributions()
		return errors.Join(err, readErr)
	}
	return s
}
