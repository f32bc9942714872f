// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
)

// restartGrace is how long an approval remains open after a restart. People may have decided while no driver ran, and their decisions
// come after the restart.
const restartGrace Millis = 60_000

// limitsWait reports whether the call waits for a decision whose time is limited.
func (s State) limitsWait(c BatchCall) bool {
	return s.Phase == PhaseActing && s.Config.Role.ApprovalTimeout > 0 && c.State == CallUndecided && !s.needsVerdict(c)
}

// findUntimed returns the index of a call that began to wait for a decision in this step, or -1.
func (s State) findUntimed() int {
	return slices.IndexFunc(s.Batch, func(c BatchCall) bool { return c.ExpireTime == 0 && s.limitsWait(c) })
}

// findExpired returns the index of a call about which no one has decided in time, or -1.
func (s State) findExpired() int {
	return slices.IndexFunc(s.Batch, func(c BatchCall) bool { return c.ExpireTime != 0 && c.ExpireTime <= s.Clock.Now && s.limitsWait(c) })
}

// beginTimeout sets until when people can decide about a call.
func (s State) beginTimeout() State {
	i := s.findUntimed()
	c := s.Batch[i]
	c.ExpireTime = s.Clock.Now + Time(s.Config.Role.ApprovalTimeout)
	return s.withCall(i, c)
}

// nextExpiry returns when the first open approval expires.
func (s State) nextExpiry() (Time, bool) {
	var first Time
	for _, c := range s.Batch {
		if c.ExpireTime != 0 && s.limitsWait(c) && (first == 0 || c.ExpireTime < first) {
			first = c.ExpireTime
		}
	}
	return first, first != 0
}

// expire ends a call about which no one has decided in time, or the agent, as the role configures.
func expire(s State) State {
	i := s.findExpired()
	c := s.Batch[i]
	if s.Config.Role.FailOnTimeout {
		return beginEnd(s, Outcome{Kind: ErrorApprovalExpired, Error: s.textExpired(c)})
	}
	c.Decisions++
	return s.withCall(i, c.denied(s.Config, "Not done: "+s.textExpired(c)+". Do not try it again: say what is missing."))
}

func (s State) textExpired(c BatchCall) string {
	return fmt.Sprintf("no one decided about %s within %d seconds", c.Tool, s.Config.Role.ApprovalTimeout/1000)
}

// extendWaits keeps approvals open for restartGrace.
func (s State) extendWaits() State {
	until := s.Clock.Now + Time(restartGrace)
	for i, c := range s.Batch {
		if c.ExpireTime != 0 && c.ExpireTime < until && s.limitsWait(c) {
			c.ExpireTime = until
			s = s.withCall(i, c)
		}
	}
	return s
}

// ExpiredCalls returns the calls that a step has ended because no one had decided about them in time.
func ExpiredCalls(before, after State, fact Fact) []BatchCall {
	if after.Outcome != nil && after.Outcome.Kind != ErrorApprovalExpired {
		return nil // something else has ended the agent
	}
	var expired []BatchCall
	for _, c := range before.Batch {
		decided, ok := fact.(Decided)
		switch {
		case !before.limitsWait(c) || c.ExpireTime == 0 || c.ExpireTime > after.Clock.Now || after.findCall(c.ID, CallUndecided) >= 0:
		case ok && decided.Call == c.ApprovalID() && before.accepts(decided, c):
		default:
			expired = append(expired, c)
		}
	}
	return expired
}
