// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"

	"pgregory.net/rapid"
)

// expires reports whether the time of an ask has passed in the step.
func (s step) expires(ask AskPerson) bool {
	return ask.ExpireTime != 0 && ask.ExpireTime <= s.after.Clock.Now
}

// Invariant 15.
func approvalsExpire(t *rapid.T) func(step) {
	return func(s step) {
		if s.after.Phase != PhaseActing || s.after.Config.Role.ApprovalTimeout == 0 {
			return
		}
		for _, ask := range PendingAsks(s.after) {
			if ask.Kind != AskApproval {
				continue
			}
			if ask.ExpireTime <= s.after.Clock.Now {
				t.Fatalf("%s waits at %d for a decision until %d", ask.Call, s.after.Clock.Now, ask.ExpireTime)
			}
			if at, ok := s.after.nextWake(); !ok || at > ask.ExpireTime {
				t.Fatalf("%s expires at %d, and the agent wakes at %d", ask.Call, ask.ExpireTime, at)
			}
		}
		if _, decides := s.event.Fact.(Decided); decides {
			return
		}
		for _, c := range s.after.Batch {
			waited := slices.ContainsFunc(s.before.Batch, func(b BatchCall) bool { return b.ID == c.ID && b.State == CallUndecided })
			if waited && (c.State == CallHeld || c.State == CallRunning) {
				t.Fatalf("%v made %s %s without a decision", s.event, c.ID, c.State)
			}
		}
	}
}
