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
	origin, err := a.readOrigin(batch, record.Origin, record.OriginSeq)
	if err != nil {
		return err
	}
	request, err := a.engine.requestOfOrigin(record.Origin, origin.lastTurn)
	if err != nil {
		return err
	}
	a.beginning = &beginning{origin.state, record.OriginSeq, request}
	return nil
}

// originRun is the recorded run of a fork's origin.
type originRun struct {
	events []agent.Event
	// state is the state at the place of the fork, and lastTurn the last one up to there in which a model call of a turn was outstanding.
	state, lastTurn agent.State
}

// readOrigin reads the origin of a fork up to the place of the fork, and also its record if the fork uses it: the events of a long run take
// time to decode.
func (a *actor) readOrigin(batch []delivery, uid string, sequence int64) (originRun, error) {
	fork, until := a.forkIn(batch), sequence
	if fork.UsesRecord() && a.recorded == nil {
		until = max(until, fork.End)
	}
	origin, err := a.engine.eventsOfOrigin(uid, sequence, until)
	if err == nil && fork.UsesRecord() && a.recorded == nil {
		a.recorded = origin.record(sequence)
	}
	return origin, err
}

// record returns what a fork at an event has as its record.
func (o originRun) record(sequence int64) *agent.Record {
	return agent.NewRecord(o.state, slices.Clone(o.events[min(int(sequence), len(o.events)):]))
}

// eventsOfOrigin returns the events of an agent up to one, or up to the first that cannot be read, for a fork at an event.
func (e *Engine) eventsOfOrigin(uid string, sequence, until int64) (originRun, error) {
	rows, err := e.allEvents(e.ctx, uid)
	if err != nil {
		return originRun{}, err
	}
	var origin originRun
	var state agent.State
	for _, row := range rows {
		next, event, err := agent.DecodeAndApply(state, row.Data)
		if row.Seq > until || err != nil {
			return origin, nil //nolint:nilerr // an event of another release ends what can be read
		}
		state, origin.events = next, append(origin.events, event)
		if row.Seq > sequence {
			continue
		}
		origin.state = state
		if c := state.ModelCall; c != nil && c.Purpose == agent.PurposeTurn {
			origin.lastTurn = state
		}
	}
	return origin, nil
}

// requestOfOrigin returns the request of the last model call before the place of a fork, given the state in which it was outstanding, so that
// the ledger stores the first request of the fork as an edit of it; nil if it does not have that request.
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

// forkIn returns the fork of the agent, which a batch may start, or nil.
func (a *actor) forkIn(batch []delivery) *agent.Fork {
	found := a.config().Fork
	for _, d := range batch {
		switch f := d.fact.(type) {
		case agent.Forked:
			found = &f.Fork
		case agent.Started:
			found = f.Config.Fork
		}
	}
	return found
}

// loadRecord reads the record of a fork, if the fork uses it.
func (a *actor) loadRecord(batch []delivery) error {
	f := a.forkIn(batch)
	if a.recorded != nil || !f.UsesRecord() {
		return nil
	}
	origin, err := a.engine.eventsOfOrigin(f.Origin, f.Sequence, f.End)
	if err == nil {
		a.recorded = origin.record(f.Sequence)
	}
	return err
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
