// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

// CompletedCall is a model or tool call that has ended.
type CompletedCall struct {
	Agent ledger.Agent
	// Effect is the agent.CallModel or agent.RunTool that was performed, and Turn the orchestrator's turn.
	Effect agent.Effect
	Turn   agent.Turn
	// Provider is set for model calls, Tool for tool calls.
	Provider, Tool string
	Status         ledger.Status
	// Failure is the kind of failure, if it failed.
	Failure  string
	Started  time.Time
	Duration time.Duration
	// Usage is the usage of a model call, as far as it is known.
	Usage budget.Usage
	// reported is the usage that the provider reported, within bounds; nil if it reported none.
	reported *model.Usage
	// sent describes the body of a model call.
	sent *model.Sent
	// Server is the host of a model call. Request is what was sent, and Reply the reply, if there was one.
	Server  string
	Request *model.Request
	Reply   *model.Reply
}

// Change is a recorded step of an agent.
type Change struct {
	Agent         ledger.Agent
	Before, After agent.State
	// Effects are the effects that the step added.
	Effects []agent.Effect
	// Events are the recorded events, and Calls the calls whose results were recorded with them.
	Events []agent.Event
	Calls  []CompletedCall
	// Deleted reports that the agent's object was deleted, so that nothing follows.
	Deleted bool
}

// Steps visits the states before and after each event.
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
