// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"
)

// hasCallsInFlight reports whether the agent has a call in flight or an unrecorded delivery.
func (a *actor) hasCallsInFlight() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls > 0 || a.working || len(a.queue) > 0 {
		return true
	}
	for key := range a.inFlight {
		if strings.HasPrefix(key, "tool/") { // it is about to start
			return true
		}
	}
	return false
}

// beginCall reports whether a call may start now, and counts it. endCall must be called when its result is in the mailbox.
func (a *actor) beginCall(ctx context.Context, isTool bool) bool {
	if !a.engine.mayCall(ctx) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dropped || (a.draining && !isTool) {
		return false
	}
	a.calls++
	return true
}

func (a *actor) endCall() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls--
}
