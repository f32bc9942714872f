// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/nestor-dev/nestor/internal/agent"
)

// hasCallsInFlight reports whether the agent has a call in flight that is not detached, or an unrecorded delivery.
func (a *actor) hasCallsInFlight() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.working || len(a.queue) > 0 {
		return true
	}
	for key := range a.calling {
		if a.detached[key] == nil {
			return true
		}
	}
	for key := range a.inFlight {
		if strings.HasPrefix(key, "tool/") && a.detached[key] == nil && a.engine.adopted.find(a.uid+"/"+key) == nil { // it is about to start
			return true
		}
	}
	return false
}

// beginCall reports whether a call may start now, and counts it. endCall must be called when its result is in the mailbox.
func (a *actor) beginCall(ctx context.Context, e agent.Effect) bool {
	if !a.engine.mayCall(ctx) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, isTool := e.(agent.RunTool); a.dropped || (a.draining && !isTool) {
		return false
	}
	if a.calling == nil {
		a.calling = map[string]bool{}
	}
	a.calling[e.Key()] = true
	return true
}

func (a *actor) endCall(e agent.Effect) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.calling, e.Key())
}
