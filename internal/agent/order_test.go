// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"pgregory.net/rapid"
)

// Invariant 10. See startable for the rule. The test implements it independently.
func exclusiveCallsRunAlone(t *rapid.T) func(step) {
	return func(s step) {
		var reading, changing []int
		for i, c := range s.after.Batch {
			if tool, ok := s.after.plainTool(c.Tool); ok && c.State == CallRunning {
				if tool.ReadOnly {
					reading = append(reading, i)
				} else {
					changing = append(changing, i)
				}
			}
		}
		if len(changing) > 1 || (len(changing) == 1 && len(reading) > 0) || len(reading) > maxParallelTools {
			t.Fatalf("calls %v read while calls %v change something", reading, changing)
		}
		for _, i := range changing {
			for j, c := range s.after.Batch {
				if j < i && c.State != CallDone && c.State != CallAsked {
					t.Fatalf("call %d, which changes something, started before call %d was done (%s)", i, j, c.State)
				}
				if j > i && (c.State == CallRunning || c.State == CallDelegated) {
					t.Fatalf("call %d started before call %d, which changes something, was done", j, i)
				}
			}
		}
		checkToolTasks(t, s.after)
	}
}

// checkToolTasks checks the order of an orchestrator's tools, which run as tasks.
func checkToolTasks(t *rapid.T, s State) {
	for i, a := range s.Children.Live {
		if a.Tool == "" || !a.pending() || a.Queued {
			continue
		}
		for j, b := range s.Children.Live {
			together := b.Reply == a.Reply && b.Tool != "" && b.pending() && !b.Queued && i != j
			if together && (a.Exclusive || b.Exclusive) {
				t.Fatalf("tasks %s and %s of one reply run at the same time", a.Name, b.Name)
			}
		}
	}
}
