// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/test/bench/report"
	"github.com/nestor-dev/nestor/test/stack"
)

// TestSmallLatencyRuns measures each latency a few times on a real stack. The stacks run beside each other: they wait for
// most of the time.
func TestSmallLatencyRuns(t *testing.T) {
	t.Parallel()
	ctrl.SetLogger(logr.Discard())
	env := Environment{Ledger: stack.SQLite, Timeout: 5 * time.Minute, Logf: t.Logf, Programs: programs(t)}
	for name, tc := range map[string]struct {
		scenario Scenario
		measured []string
	}{
		"ask":      {AskLatency(2, 20), []string{report.LatencyAsk}},
		"delegate": {DelegateLatency(2, 20), []string{report.LatencyDelegate, report.LatencyReturn}},
		"cancel":   {CancelDepth3(2, 20), []string{report.LatencyCancel}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := tc.scenario.Run(t.Context(), env)
			if result.Error != "" || result.Failures != 0 {
				t.Fatalf("%s", result)
			}
			t.Log(result)
			for _, name := range tc.measured {
				if d := result.Latencies[name]; d == nil || d.P50 <= 0 || d.Max >= 1000*result.WallSeconds {
					t.Errorf("%s: %+v", name, d)
				}
			}
		})
	}
}
