// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"pgregory.net/rapid"
)

// Invariant 6. A window is the time between two messages of a person. Its limits hold whatever the model replies.
func windowLimitsHold(t *rapid.T) func(step) {
	turns, tasks := 0, int64(0)
	return func(s step) {
		limits := s.after.Config.Limits
		if m, ok := s.event.Fact.(MessageArrived); ok && s.after.HasHandled(m.Message) && !s.before.HasHandled(m.Message) {
			turns, tasks = 0, 0
		}
		turns += s.after.Turn.Number - s.before.Turn.Number
		tasks += int64(s.after.Children.Started - s.before.Children.Started)
		if n := limits.MaxTurnsPerMessage; n > 0 && turns > n {
			t.Fatalf("%d turns, the limit is %d", turns, n)
		}
		if n := limits.MaxTasksPerMessage; n > 0 && tasks > n {
			t.Fatalf("%d tasks since the last message, the limit is %d", tasks, n)
		}
		if n := limits.MaxTasks; n > 0 && int64(s.after.Children.Started) > n {
			t.Fatalf("%d tasks, the limit is %d", s.after.Children.Started, n)
		}
		if f, ok := s.event.Fact.(ModelReplied); ok && f.TasksLeft != nil {
			if n := int64(s.after.Children.Started - s.before.Children.Started); n > *f.TasksLeft {
				t.Fatalf("a reply started %d tasks, but the tree allows %d", n, *f.TasksLeft)
			}
		}
		_, message := s.event.Fact.(MessageArrived)
		if s.before.Paused != nil && s.after.Turn.Number > s.before.Turn.Number && !message {
			t.Fatalf("%v began a turn in a paused chat", s.event)
		}
	}
}
