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

// beginFork gives a fork that is not recorded yet the state of its origin at the place of the fork, to which its first fact applies.
func (a *actor) beginFork(record *ledger.Agent) error {
	if record.OriginSeq == 0 {
		return nil
	}
	events, err := a.engine.eventsOfOrigin(record.Origin, record.OriginSeq)
	if err != nil {
		return err
	}
	state := agent.Replay(agent.State{}, events)
	request, err := a.engine.requestOfOrigin(record.Origin, state)
	if err != nil {
		return err
	}
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	a.state, a.seq, a.lastRequest = state, record.OriginSeq, request
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
			break
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
