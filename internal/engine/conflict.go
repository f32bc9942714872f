// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"

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

// openTools returns the tool calls of an agent that is taken over or resumed. Those that this process makes, that it has adopted, or whose
// results wait to be recorded are in flight.
func (a *actor) openTools(r *stepResult) agent.OpenCalls {
	a.mu.Lock()
	defer a.mu.Unlock()
	var calls agent.OpenCalls
	for _, e := range agent.ToolCalls(r.next) {
		key := a.ledgerKey(e)
		_, inFlight := a.inFlight[e.Key()]
		delivered := func(d delivery) bool { return d.toolResult != nil && d.toolResult.Key == key }
		switch {
		case inFlight || a.hasResult(key) || slices.ContainsFunc(r.deliveries, delivered):
			calls.InFlight = append(calls.InFlight, e.Call)
		case r.open[key]:
			calls.Interrupted = append(calls.Interrupted, e.Call)
		}
	}
	return calls
}
