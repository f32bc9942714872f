// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/nestor-dev/nestor/internal/agent/budget"

// countWrites counts a call that starts, if it may write. It counts once, however often it begins anew.
func (s State) countWrites(c BatchCall) (State, BatchCall) {
	fresh := s.writes(c) - c.Writes
	if fresh <= 0 {
		return s, c
	}
	c.Writes += fresh
	s.Usage.Writes = budget.Sum(s.Usage.Writes, fresh)
	s.Budget.Used = s.Budget.Used.Plus(budget.Amount{Writes: fresh})
	return s, c
}

// writes returns how often a call may write. While policies apply, they know; otherwise it is what the configuration says about
// the tool. A plain tool of an orchestrator is counted by its task.
func (s State) writes(c BatchCall) int64 {
	tool, plain := s.plainTool(c.Tool)
	switch {
	case plain && s.Config.Kind == Orchestrator:
		return 0
	case s.Policed && c.Verdict != nil:
		return c.Verdict.Writes
	case plain && !tool.ReadOnly:
		return 1
	}
	return 0
}

// StartedWrites returns how many writes a fact adds to the usage of the agent, for a driver that reserves them before the fact
// is recorded.
func StartedWrites(s State, fact Fact) int64 {
	return apply(s, Event{At: s.Clock.Now, Fact: fact}).Usage.Writes - s.Usage.Writes
}
