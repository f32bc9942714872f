// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"
)

// calling says whether the agent makes a call, or has something that is not recorded.
func (a *actor) calling() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls > 0 || a.working || len(a.queue) > 0 {
		return true
	}
	for key := range a.inFlight {
		if strings.HasPrefix(key, "tool/") { // it is about to be made
			return true
		}
	}
	return false
}

// beginCall says whether a call may be made now, and counts it; endCall is called when its result is in the mailbox.
func (a *actor) beginCall(ctx context.Context, isTool bool) bool {
	if !a.engine.mayAct(ctx) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dropped || (a.quiet && !isTool) {
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
