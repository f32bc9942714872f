// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/recording"
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
	// The first read has the whole record if the fork uses it; see loadRecord.
	until := record.OriginSeq
	if f := a.forkIn(batch); f.UsesRecord() {
		until = max(until, f.End)
	}
	origin, err := a.engine.ReadRun(a.engine.ctx, record.Origin, until)
	if err != nil {
		return err
	}
	sequence := min(record.OriginSeq, origin.Last())
	request, err := a.engine.requestOfOrigin(record.Origin, lastTurn(origin, sequence))
	if err != nil {
		return err
	}
	a.beginning = &beginning{origin.State(sequence), record.OriginSeq, request}
	return nil
}

// ReadRun returns the recorded run of an agent with all events up to one of them, if they can be read. It may have more.
func (s *shared) ReadRun(ctx context.Context, uid string, last int64) (*recording.Run, error) {
	return s.runs.Read(ctx, uid, last)
}

// lastTurn returns the last state of a run up to an event in which a model call of a turn was outstanding.
func lastTurn(r *recording.Run, sequence int64) agent.State {
	for ; sequence > 0; sequence-- {
		s := r.State(sequence)
		if s.ModelCall != nil && s.ModelCall.Purpose == agent.PurposeTurn {
			return s
		}
	}
	return agent.State{}
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
	origin, err := a.engine.ReadRun(a.engine.ctx, f.Origin, f.End)
	if err != nil {
		return err
	}
	begin, end := min(f.Sequence, origin.Last()), min(f.End, origin.Last())
	a.recorded = agent.NewRecord(origin.State(begin), slices.Clone(origin.Events[begin:max(begin, end)]))
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
