// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

// Call is a model or tool call that was made.
type Call struct {
	Agent ledger.Agent
	// Effect is the agent.CallModel or agent.RunTool that it performed, and Turn the orchestrator's turn that it belongs to.
	Effect agent.Effect
	Turn   agent.Turn
	// Provider is where a model call went, Tool what a tool call called.
	Provider, Tool string
	Status         ledger.Status
	// Failure is the kind of failure, if it failed.
	Failure string
	Started time.Time
	Took    time.Duration
	// Usage is what a model call used, as far as it is known.
	Usage agent.Usage
	// counted is what the provider said, within bounds; nil if it said nothing.
	counted *model.Usage
	// Server is the host that a model call went to. Request is what it was asked, and Reply what it answered, if it did.
	Server  string
	Request *model.Request
	Reply   *model.Reply
}

// Change is a step that an agent has made, as it is in the ledger.
type Change struct {
	Agent         ledger.Agent
	Before, After agent.State
	// Effects are what the step added to what is outstanding.
	Effects []agent.Effect
	// Events are what happened, and Calls the calls whose results were recorded with them.
	Events []agent.Event
	Calls  []Call
	// Gone says that the agent's object was deleted, so that nothing will come after this.
	Gone bool
}

// Steps visits the state before and after each event of a change.
func (c Change) Steps(visit func(before agent.State, e agent.Event, after agent.State)) {
	before := c.Before
	for i, e := range c.Events {
		after := c.After
		if i < len(c.Events)-1 {
			after = agent.Replay(before, []agent.Event{e})
		}
		visit(before, e, after)
		before = after
	}
}
