// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "pgregory.net/rapid"

// mayWrite returns how often a call of the batch may write: as the fact says, or as the tool is configured if no policies apply.
func mayWrite(s step, c BatchCall) int64 {
	f, judged := s.event.Fact.(Judged)
	tool, plain := s.after.plainTool(c.Tool)
	switch {
	case s.after.Config.Kind == Orchestrator && plain:
		return 0
	case judged && f.Policed:
		for _, call := range f.Calls {
			if call.Call == c.ID {
				return call.Writes
			}
		}
		return 0
	case !s.after.Policed && plain && !tool.ReadOnly:
		return 1
	}
	return 0
}

// Every call that may write counts when it starts, and once however often it is repeated. What children report counts too.
func writesCountOnce(t *rapid.T) func(step) {
	counted := map[string]int64{} // by the id of the call
	return func(s step) {
		added := s.after.Usage.Writes - s.before.Usage.Writes
		if f, ok := s.event.Fact.(ChildFinished); ok && s.after.Children.Finished > s.before.Children.Finished {
			added -= f.Usage.Writes
		}
		if s.after.Usage.Writes != s.after.Budget.Used.Writes {
			t.Fatalf("the usage has %d writes, the budget %d", s.after.Usage.Writes, s.after.Budget.Used.Writes)
		}
		var allowed int64
		for _, c := range append(s.before.Batch, s.after.Batch...) {
			if more := mayWrite(s, c) - counted[c.ID]; more > 0 {
				allowed += more
			}
		}
		if added < 0 || added > allowed {
			t.Fatalf("%s counts %d writes, and its calls may make %d", s.event, added, allowed)
		}
		for _, c := range s.after.Batch {
			if c.Writes < counted[c.ID] {
				t.Fatalf("%s counted %d writes and now %d", c.ID, counted[c.ID], c.Writes)
			}
			if fresh := c.State == CallRunning || c.State == CallDelegated; fresh && s.before.needsVerdictFor(c.ID) && c.Writes < mayWrite(s, c) {
				t.Fatalf("%s started uncounted", c.ID)
			}
			counted[c.ID] = c.Writes
		}
	}
}
