// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// delivery is an item in an agent's mailbox: a fact, and what to record with it.
type delivery struct {
	fact agent.Fact
	// at is the earliest time of the fact: a timer may fire slightly early by another clock.
	at agent.Time
	// create is the record of an agent that may be new.
	create *ledger.Agent
	// end reports that nothing follows: the agent's object is gone.
	end bool
	// quarantine reports that the fact quarantines the agent.
	quarantine bool
	// takeOver performs everything that is outstanding, not only what a fact adds; its fact is computed after the agent was read.
	// justLoaded reports that the agent was just read.
	takeOver, justLoaded bool
	// lostCall is the key of the adopted call whose loss is the reason for a take-over.
	lostCall string
	// missed are the facts to apply after a take-over; caughtUp reports that they were computed.
	missed   []agent.Fact
	caughtUp bool
	// resume performs everything that is outstanding of a parked agent.
	resume bool
	// usage is that of the tree with which calls were judged.
	usage *budget.Amount
	// judge judges the calls that wait for policies.
	judge bool
	// open are the keys of the calls without a result in the ledger, for a take-over or a resume.
	open map[string]bool
	// reserved is the reservation of a model call, released when its usage is part of the state.
	reserved    budget.Amount
	modelResult *ledger.ModelResult
	toolResult  *ledger.ToolResult
	// images belong to the fact.
	images []ledger.Image
	// call is the call that produced the result, if one was made.
	call *CompletedCall
	// onRecorded, if set, is called once with the result of the delivery; nil means that the fact is durable or changes nothing.
	onRecorded func(error)
}

// confirmDeliveries reports the result of an append to the callers that wait for it.
func confirmDeliveries(batch []delivery, err error) {
	for _, d := range batch {
		if d.onRecorded != nil {
			d.onRecorded(err)
		}
	}
}

// factsOnly keeps only the facts of a batch.
func factsOnly(batch []delivery) []delivery {
	facts := slices.Clone(batch)
	for i := range facts {
		facts[i].modelResult, facts[i].toolResult, facts[i].call = nil, nil, nil
	}
	return facts
}
