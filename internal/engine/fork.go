// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// beginning is the state of an origin at the place of a fork, to which the first fact of the fork applies.
type beginning struct {
	state   agent.State
	seq     int64
	request *exchange.Recorded
}

// beginFork reads the beginning of a fork that a batch starts. It is not the state of the actor: readers that do not find the fork in the
// ledger reset that at any time.
func (a *actor) beginFork(batch []delivery) error {
	a.beginning = nil
	i := slices.IndexFunc(batch, func(d delivery) bool { return d.create != nil && d.create.OriginSeq > 0 })
	if i < 0 || !a.isNotFound() {
		return nil
	}
	record := batch[i].create
	events, err := a.engine.eventsOfOrigin(record.Origin, record.OriginSeq)
	if err != nil {
		return err
	}
	state := agent.Replay(agent.State{}, events)
	request, err := a.engine.requestOfOrigin(record.Origin, state)
	if err != nil {
		return err
	}
	a.beginning = &beginning{state, record.OriginSeq, request}
	return nil
}

// eventsOfOrigin returns the events of an agent up to one, or up to the first that cannot be read.
func (e *Engine) eventsOfOrigin(uid string, until int64) ([]agent.Event, error) {
	rows, err := e.allEvents(e.ctx, uid)
	if err != nil {
		return nil, err
	}
	var events []agent.Event
	var state agent.State
	for _, row := range rows {
		next, event, err := agent.DecodeAndApply(state, row.Data)
		if row.Seq > until || err != nil {
			return events, nil //nolint:nilerr // an event of another release ends what can be read
		}
		state, events = next, append(events, event)
	}
	return events, nil
}

// requestOfOrigin returns the request of the model call that is outstanding at the place of a fork, so that the ledger stores the first
// request of the fork as an edit of it; nil if it does not have that request.
func (e *Engine) requestOfOrigin(uid string, s agent.State) (*exchange.Recorded, error) {
	if s.ModelCall == nil {
		return nil, nil
	}
	call, err := e.options.Ledger.ModelCall(e.ctx, modelCallKey(uid, s.ModelCall.ID, s.ModelCall.Attempt))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the request of the origin %s: %w", uid, err)
	}
	return exchange.Resume(call, s, e.options.Now()), nil
}

// loadRecord reads the record of a fork, if the fork uses it.
func (a *actor) loadRecord(batch []delivery) error {
	fork := a.config().Fork
	for _, d := range batch {
		switch f := d.fact.(type) {
		case agent.Forked:
			fork = &f.Fork
		case agent.Started:
			fork = f.Config.Fork
		}
	}
	if fork == nil || a.recorded != nil || fork.Replies != agent.RepliesRecorded && fork.Results == agent.ResultsLive {
		return nil
	}
	events, err := a.engine.eventsOfOrigin(fork.Origin, fork.End)
	if err != nil {
		return err
	}
	before := events[:min(int(fork.Sequence), len(events))]
	a.recorded = agent.NewRecord(agent.Replay(agent.State{}, before), slices.Clone(events[len(before):]))
	return nil
}

// recall answers the calls of a fork from its record, in the step that makes them.
func (a *actor) recall(r *stepResult, now time.Time) {
	if a.recorded == nil || r.end || r.quarantine {
		return
	}
	if fact, ok := a.recorded.Recall(r.next); ok {
		a.stepFact(r, delivery{fact: fact}, now)
	}
}

// recallReply delivers the recorded reply to a model call, and reports whether the fork has recorded replies.
func (a *actor) recallReply(r *stepResult, e agent.CallModel) bool {
	if a.recorded == nil || !r.next.RecallsReplies() {
		return false
	}
	a.finishEffect(e, delivery{fact: a.recorded.Reply(e)})
	return true
}
