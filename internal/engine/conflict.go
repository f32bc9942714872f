// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/agent"
)

// handleConflict handles a conflict: the ledger has more events of the agent than this engine. No other engine appends in this
// epoch, so it was an append of this engine whose answer was lost. The recorded events are authoritative: the agent is taken over
// again, and the batch goes through the core once more, which ignores the facts that it already has.
func (a *actor) handleConflict(batch []delivery) {
	a.unload()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.putBack(slices.Concat([]delivery{{takeOver: true}}, batch))
}

// dropOwnInFlight leaves out the calls that are in flight in this engine.
func (a *actor) dropOwnInFlight(restarted agent.Restarted) agent.Restarted {
	a.mu.Lock()
	defer a.mu.Unlock()
	restarted.Unknown = slices.DeleteFunc(slices.Clone(restarted.Unknown), func(call string) bool {
		for key := range a.inFlight {
			if strings.HasPrefix(key, "tool/") && strings.HasSuffix(key, "/"+call) {
				return true
			}
		}
		return false
	})
	return restarted
}
