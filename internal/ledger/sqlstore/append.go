// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger"
)

func (s *Store) Append(ctx context.Context, batch ledger.Batch) error {
	stripped, forms := stripEvents(batch)
	if err := stripped.Validate(); err != nil {
		// An event with fields after its fact cannot be stripped.
		if err := batch.Validate(); err != nil {
			return err
		}
		stripped, forms = batch, make([]int, len(batch.Events))
	}
	f, draft, err := s.fold(ctx, stripped, forms)
	if err != nil {
		return err
	}
	f.index = s.index(batch.After, batch.Events)
	if err = s.queue.submit(ctx, f); err == nil {
		s.texts.put(batch.Agent, f, draft, batch.Finish != nil)
	}
	var conflict *ledger.ConflictError
	if errors.As(err, &conflict) {
		f.texts.id.Store(0) // the agent may have been deleted and created again
		return s.completeConflict(ctx, conflict)
	}
	if err != nil {
		return s.fail("append to agent "+batch.Agent, err)
	}
	return nil
}

// completeConflict adds the newest event of the agent to a conflict, and distinguishes an outdated writer from an
// unknown agent.
func (s *Store) completeConflict(ctx context.Context, conflict *ledger.ConflictError) error {
	agent, err := s.Agent(ctx, conflict.Agent)
	if errors.Is(err, ledger.ErrNotFound) {
		return fmt.Errorf("append event %d: %w", conflict.Seq, err)
	}
	if err == nil {
		conflict.LastSeq = agent.LastSeq
	}
	return conflict
}

func (s *Store) commit(group []*pendingBatch) {
	// Every writer locks its agents in the same order, to avoid deadlocks between processes. The sort is stable: batches
	// of one agent keep their order.
	slices.SortStableFunc(group, func(a, b *pendingBatch) int { return strings.Compare(a.batch.Agent, b.batch.Agent) })
	refused, err := s.write(group)
	if err != nil && len(group) > 1 && s.isBatchError(err) {
		for _, p := range group {
			s.commit([]*pendingBatch{p})
		}
		return
	}
	s.batches.Add(int64(len(group)))
	for i, p := range group {
		if err != nil {
			p.done <- err
			continue
		}
		p.done <- refused[i]
	}
}

// isBatchError reports whether a batch of the group may have caused the error rather than the database.
func (s *Store) isBatchError(err error) bool {
	if errors.Is(err, ledger.ErrNoIntent) || errors.Is(err, ledger.ErrKeyTaken) {
		return true
	}
	reason, _ := s.driver.Classify(err)
	return reason == ledger.ReasonFailed
}

// write runs the transaction of a group. For each batch it returns nil, or why it was refused while the others were
// written: a *ledger.FencedError or a *ledger.ConflictError.
func (s *Store) write(group []*pendingBatch) ([]error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	s.transactions.Add(1)
	var refused []error
	err := s.driver.Write(ctx, func(tx Tx) error {
		refused = make([]error, len(group))
		if err := s.checkFences(ctx, tx, group, refused); err != nil {
			return err
		}
		if err := s.lockOrigins(ctx, tx, group, refused); err != nil {
			return err
		}
		if err := advanceAgents(ctx, tx, group, refused); err != nil {
			return err
		}
		var steps []step
		for i, p := range group {
			if refused[i] == nil {
				steps = s.indexSteps(appendSteps(steps, p.batch), p.batch)
			}
		}
		return runSteps(ctx, tx, steps)
	})
	return refused, err
}
