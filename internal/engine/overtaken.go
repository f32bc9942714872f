// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/agent"
)

// overtaken means that the ledger has more of the agent than this engine knows. Nobody else appends in this engine's epoch, so it was an
// append of its own whose answer was lost with the connection. What the ledger has is the truth: it is taken over, and what was to be
// recorded goes through the core again, which knows what it has heard already.
func (a *actor) overtaken(batch []delivery) {
	a.unload()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.putBack(slices.Concat([]delivery{{takeOver: true}}, batch))
}

// withoutResults keeps only the facts.
func withoutResults(batch []delivery) []delivery {
	facts := slices.Clone(batch)
	for i := range facts {
		facts[i].modelResult, facts[i].toolResult, facts[i].call = nil, nil, nil
	}
	return facts
}

// spare leaves out the calls that this engine itself is running.
func (a *actor) spare(restarted agent.Restarted) agent.Restarted {
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
