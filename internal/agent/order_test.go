// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"

	"pgregory.net/rapid"
)

// The calls of a reply run in the model's order as far as it matters: see mayBegin. The test says the rule in other words.
func TestInvariant10CallsThatChangeSomethingRunAloneAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawRun(t, func(s step) {
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
				t.Fatalf("calls %v read and %v change something at the same time", reading, changing)
			}
			for _, i := range changing {
				for j, c := range s.after.Batch {
					if j < i && c.State != CallDone && c.State != CallAsked {
						t.Fatalf("call %d changes something before call %d is done (%s)", i, j, c.State)
					}
					if j > i && (c.State == CallRunning || c.State == CallDelegated) {
						t.Fatalf("call %d began before call %d, which changes something, was done", j, i)
					}
				}
			}
			checkToolTasks(t, s.after)
		})
	})
}

// checkToolTasks checks the same for the tools of an orchestrator, which run as tasks.
func checkToolTasks(t *rapid.T, s State) {
	for i, a := range s.Children.Live {
		if a.Tool == "" || !a.pending() || a.Queued {
			continue
		}
		for j, b := range s.Children.Live {
			together := b.Reply == a.Reply && b.Tool != "" && b.pending() && !b.Queued && i != j
			if together && (a.Exclusive || b.Exclusive) {
				t.Fatalf("tasks %s and %s of one reply run together", a.Name, b.Name)
			}
		}
	}
}
